/** What is read of the calls of a tool, and calling it. */
import { graphql, type FragmentOf } from '../../api/document.ts'
import { faults } from '../../api/faults.ts'

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

export const callsQuery = graphql(
  `
    query ToolCalls($projectId: ID, $filter: ToolCallFilter, $after: String) {
      toolCalls(projectId: $projectId, filter: $filter, first: 30, after: $after) {
        nodes {
          ...Call
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  `,
  [call],
)

export const callQuery = graphql(
  `
    query CallById($id: ID!) {
      toolCall(id: $id) {
        ...Call
      }
    }
  `,
  [call],
)

export const callToolMutation = graphql(
  `
    mutation CallTool($input: CallToolInput!) {
      callTool(input: $input) {
        __typename
        ... on ToolCallPayload {
          toolCall {
            ...Call
          }
        }
        ...Faults
      }
    }
  `,
  [call, faults],
)

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
export const usersQuery = graphql(`
  query ToolUsers($projectId: ID, $after: String) {
    agents(projectId: $projectId, first: 100, after: $after) {
      nodes {
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
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
`)

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
