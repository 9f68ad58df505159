/** What the screens of agents read and do. */
import { command } from '../../api/command.ts'
import { graphql, type FragmentOf, type VariablesOf } from '../../api/document.ts'
import { faults } from '../../api/faults.ts'

export const gate = graphql(`
  fragment AgentGate on GatePolicy {
    mode
    when
    source
    timeoutSeconds
    quorum
    excludeRequester
    approvers
    escalateAfterSeconds
    verdictLinks
    responses
    title
  }
`)

const agentRow = graphql(`
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
      mode
      quorum
      approvers
      timeoutSeconds
      excludeRequester
    }
  }
`)

export const agentsQuery = graphql(
  `
    query Agents($projectId: ID, $name: String, $after: String) {
      agents(projectId: $projectId, name: $name, first: 50, after: $after) {
        nodes {
          ...AgentRow
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  `,
  [agentRow],
)

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
        ...AgentGate
      }
      version
      updatedAt
    }
  `,
  [gate],
)

export const agentQuery = graphql(
  `
    query AgentById($id: ID!) {
      agent(id: $id) {
        ...AgentDetail
      }
    }
  `,
  [agentDetail],
)

/** The tools and agents that can be chosen. */
export const toolChoicesQuery = graphql(`
  query ToolChoices($projectId: ID, $after: String) {
    tools(projectId: $projectId, first: 100, after: $after) {
      nodes {
        __typename
        id
        name
        title
      }
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
`)

export const createAgentMutation = graphql(
  `
    mutation CreateAgent($input: CreateAgentInput!) {
      createAgent(input: $input) {
        __typename
        ... on AgentPayload {
          agent {
            ...AgentDetail
          }
        }
        ...Faults
      }
    }
  `,
  [agentDetail, faults],
)

export const updateAgentMutation = graphql(
  `
    mutation UpdateAgent($input: UpdateAgentInput!) {
      updateAgent(input: $input) {
        __typename
        ... on AgentPayload {
          agent {
            ...AgentDetail
          }
        }
        ...Faults
      }
    }
  `,
  [agentDetail, faults],
)

export const deleteAgentMutation = command('deleteAgent')

export const startMutation = graphql(
  `
    mutation StartTrial($input: StartGenerationInput!) {
      startGeneration(input: $input) {
        __typename
        ... on GenerationPayload {
          generation {
            id
            threadId
          }
        }
        ...Faults
      }
    }
  `,
  [faults],
)

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
