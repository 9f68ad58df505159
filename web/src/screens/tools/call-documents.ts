/** What is read of the calls of a tool, and calling it. */
import { graphql, type FragmentOf } from '../../api/document.ts'
import { list, one } from '../../api/reads.ts'
import { command } from '../../api/command.ts'

const call = graphql(`
  fragment Call on ToolCall {
    id
    name
    action
    status
    source
    isError
    errorCode
    createdAt
    startedAt
    settledAt
    toolVersion
    arguments
    rawArguments
    editedArguments
    content
    structuredContent
    generation {
      id
    }
    approval {
      id
      status
      expiresAt
    }
    attempts {
      attempt
      startedAt
      endedAt
      outcome
      errorCode
      idempotencyKey
    }
  }
`)

export const callsQuery = list('toolCalls', call, '$filter:ToolCallFilter')

export const callQuery = one('toolCall', call)

const callToolAnswer = graphql(
  `
    fragment CallToolAnswer on ToolCallPayload {
      toolCall {
        ...Call
      }
    }
  `,
  [call],
)
export const callToolMutation = command('callTool', callToolAnswer)

export const evaluateQuery = graphql(`
  query EvaluateGate($toolId: ID!, $action: String, $arguments: JSONObject) {
    evaluateGate(toolId: $toolId, action: $action, arguments: $arguments) {
      stops
      requirement {
        quorum
        approvers
        excludeRequester
        timeoutSeconds
      }
      grant {
        id
      }
    }
  }
`)

/** Which agents have the tool: the API has no such filter, so all are read and looked through. */
const toolUser = graphql(`
  fragment ToolUser on Agent {
    id
    name
    model
    toolIds
    activeToolIds
    mcp {
      enabled
    }
    gate {
      mode
    }
  }
`)
export const usersQuery = list('agents', toolUser)

export type Call = FragmentOf<typeof call>

/** Events after which the calls of a tool may look different. The end of every single call is not followed. */
export const callTypes = [
  'APPROVAL_REQUESTED',
  'APPROVAL_DECIDED',
  'APPROVAL_EXPIRED',
  'APPROVAL_VOIDED',
  'GENERATION_COMPLETED',
  'GENERATION_FAILED',
  'UNKNOWN_CALL_RESOLVED',
] as const
