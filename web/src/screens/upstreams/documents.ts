/** What the doctor of upstreams reads and does. */
import { gateParts } from '../../api/gate.ts'
import { command } from '../../api/command.ts'
import { graphql, type FragmentOf } from '../../api/document.ts'

const upstreamTool = graphql(
  `
    fragment UpstreamRow on McpTool {
      __typename
      id
      name
      title
      url
      version
      login
      auth {
        kind
        issuer
      }
      actions {
        action
        runtimeName
        inputSchema
        gate {
          ...Gate
        }
      }
      upstream {
        status
        loginCount
        ownLoginAt
        era
        transport
        serverName
        serverVersion
        lastSeenAt
        refreshedAt
        instructions
        notes
        promptCount
        resourceCount
        error {
          code
          message
        }
        tools {
          name
          title
          description
          hash
        }
      }
    }
  `,
  [gateParts],
)

export const upstreamQuery = graphql(
  `
    query UpstreamById($id: ID!) {
      tool(id: $id) {
        __typename
        ...UpstreamRow
      }
    }
  `,
  [upstreamTool],
)

/** When its actions were called last, and how often they failed. */
export const callsQuery = graphql(`
  query UpstreamCalls($projectId: ID, $toolId: ID!, $from: DateTime!) {
    toolCalls(projectId: $projectId, filter: { toolId: $toolId }, first: 100) {
      nodes {
        name
        createdAt
      }
    }
    statistics(projectId: $projectId, from: $from, bucket: DAY) {
      tools {
        name
        calls
        errors
        unknown
      }
    }
  }
`)

export const refreshMutation = command('refreshUpstream')

const connectAnswer = graphql(`
  fragment ConnectUpstreamAnswer on ConnectUpstreamPayload {
    url
  }
`)
export const connectMutation = command('connectUpstream', connectAnswer)

export const disconnectMutation = command('disconnectUpstream')
export const logOutMutation = command('logOutOfUpstream')

export type UpstreamRow = FragmentOf<typeof upstreamTool>
export const upstreamTypes = [
  'UPSTREAM_CHANGED',
  'UPSTREAM_STATUS',
  'GATE_CHANGED',
  'TOOL_CREATED',
  'TOOL_UPDATED',
  'TOOL_DELETED',
] as const
