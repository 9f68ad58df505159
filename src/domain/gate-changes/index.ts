/** The entry point of gates: changes of gates that two people make. */
export { type GateChange, gateChange } from './change.ts'
export { decideGateChange, getGateChanges, listGateChanges, proposeGateChange } from './changes.ts'
