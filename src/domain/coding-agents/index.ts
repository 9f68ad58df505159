/** The entry point of coding agents: programs that ask before each of their calls. */
export {
  askAsAgent,
  behaviorOf,
  reportAsAgent,
  type AgentAnswer,
  type AgentCall,
  type TakenEdits,
} from './ask.ts'
export { addCodingAgent, codingAgent, type CodingAgent } from './tool.ts'
