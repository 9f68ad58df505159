/** The front door of calls outside any generation. */
export { callTool, type CallToolInput } from './call.ts'
export { resolveUnknownCall, type ResolveUnknownCallInput } from './resolve.ts'
export { workOnCall } from './resume.ts'
