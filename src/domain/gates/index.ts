/** The entry point of gates: policies, and what they require for a call. */
export { judgeGate, meets, stricter, type Requirement } from './evaluate.ts'
export {
  gateFaults,
  gateInput,
  gateMeanings,
  gateMode,
  alwaysBy,
  gateOf,
  gateSources,
  verdictChoice,
  whenGiven,
  type GateInput,
  type GateMode,
  type GatePolicy,
  type GateSource,
  titleParts,
} from './policy.ts'
