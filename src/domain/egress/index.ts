/** The one door out of the house. */
export { createEgress, type Egress, type EgressOptions } from './egress.ts'
export { EgressError } from './egress-error.ts'
export { isConnectionHeader } from './headers.ts'
export type { EgressPolicy } from './policy.ts'
