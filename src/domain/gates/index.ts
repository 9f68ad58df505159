/** The entry point of gates: policies, and what they require for a call. */
export { judgeGate, meets, stricter, type Requirement, requirementShape } from './evaluate.ts'
export {
  gateFaults,
  gateInput,
  alwaysBy,
  gateOf,
  gateSource,
  strictestOf,
  verdictChoice,
  whenGiven,
  type GateInput,
  type GateMode,
  type GatePolicy,
  type GateSource,
  titleParts,
  policyShape,
} from './policy.ts'
