/** The one door out of the house. */
export type { Lookup } from './connector.ts'
export {
  createEgress,
  type Egress,
  type EgressOptions,
  type EgressOutcome,
  type EgressRequest,
} from './egress.ts'
export { EgressError, type EgressCode } from './egress-error.ts'
export { isConnectionHeader } from './headers.ts'
export type { EgressPolicy } from './policy.ts'
