/** The front door of calls outside any generation. */
export { callTool, type CallToolInput, attachTo } from './call.ts'
export { answerCall, runPlaced } from './send.ts'
export { placeCall, type Order, type Placed, type Via } from './place.ts'
export { resolveUnknownCall, type ResolveUnknownCallInput } from './resolve.ts'
export { workOnCall } from './resume.ts'
export { findCall } from './row.ts'
export { waitFor, type Patience } from './wait.ts'
export { cancelCall, noteBack, noteFetched, noteGone } from './withdraw.ts'
