/** What the screens of agents read and do. */
import { gateParts } from '../../api/gate.ts'
import { command } from '../../api/command.ts'
import { graphql, type FragmentOf, type VariablesOf } from '../../api/document.ts'
import { list, one } from '../../api/reads.ts'

const agentRow = graphql(
  `
    fragment AgentRow on Agent {
      id
      name
      model
      toolIds
      agentIds
      collidingNames
      version
      updatedAt
      mcp {
        enabled
      }
      gate {
        ...Gate
      }
    }
  `,
  [gateParts],
)

export const agentsQuery = list('agents', agentRow, '$name:String')

const agentDetail = graphql(
  `
    fragment AgentDetail on Agent {
      id
      name
      instructions
      model
      toolIds
      agentIds
      activeToolIds
      toolChoice {
        mode
        tool
      }
      toolLoading
      toolLoadingThreshold
      stepRules {
        step
        fromStep
        toStep
        activeToolIds
        toolChoice {
          mode
          tool
        }
      }
      stopConditions {
        hasToolCall
      }
      maxSteps
      temperature
      maxOutputTokens
      maxContextMessages
      outputSchema
      parallelToolCalls
      finalAnswerOnLimit
      timeoutMs
      clientTimeoutMs
      onClientTimeout
      budget {
        tokensPerGeneration
        tokensPerDay
      }
      mcp {
        enabled
        errorProfile
      }
      gate {
        ...Gate
      }
      version
      updatedAt
    }
  `,
  [gateParts],
)

export const agentQuery = one('agent', agentDetail)

/** The tools and agents that can be chosen. */
const toolChoice = graphql(`
  fragment ToolChoice on Tool {
    __typename
    id
    name
    title
  }
`)
export const toolChoicesQuery = list('tools', toolChoice)

const agentAnswer = graphql(
  `
    fragment AgentAnswer on AgentPayload {
      agent {
        ...AgentDetail
      }
    }
  `,
  [agentDetail],
)
export const createAgentMutation = command('createAgent', agentAnswer)

export const updateAgentMutation = command('updateAgent', agentAnswer)

export const deleteAgentMutation = command('deleteAgent')

const startAnswer = graphql(`
  fragment StartTrialAnswer on GenerationPayload {
    generation {
      id
      threadId
    }
  }
`)
export const startMutation = command('startGeneration', startAnswer)

export type AgentRow = FragmentOf<typeof agentRow>
export type AgentDetail = FragmentOf<typeof agentDetail>
export type CreateInput = VariablesOf<typeof createAgentMutation>['input']
export type UpdateInput = VariablesOf<typeof updateAgentMutation>['input']

/** Events after which agents, or what they may call, may look different. */
export const agentTypes = [
  'AGENT_CREATED',
  'AGENT_UPDATED',
  'AGENT_DELETED',
  'GATE_CHANGED',
  'TOOL_CREATED',
  'TOOL_UPDATED',
  'TOOL_DELETED',
  'UPSTREAM_CHANGED',
] as const
