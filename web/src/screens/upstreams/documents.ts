/** What the doctor of upstreams reads and does. */
import { command } from '../../api/command.ts'
import { graphql, type FragmentOf } from '../../api/document.ts'

const upstreamTool = graphql(`
  fragment UpstreamRow on McpTool {
    __typename
    id
    name
    title
    url
    version
    auth {
      kind
      issuer
    }
    upstream {
      status
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
`)

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

/** What the server has changed lately, the newest last. */
export const refreshMutation = command('refreshUpstream')

export const connectMutation = graphql(`
  mutation ConnectUpstream($input: ConnectUpstreamInput!) {
    connectUpstream(input: $input) {
      __typename
      ... on ConnectUpstreamPayload {
        url
      }
      ... on Error {
        message
      }
    }
  }
`)

export const disconnectMutation = command('disconnectUpstream')

export type UpstreamRow = FragmentOf<typeof upstreamTool>
export const upstreamTypes = [
  'UPSTREAM_CHANGED',
  'UPSTREAM_STATUS',
  'TOOL_CREATED',
  'TOOL_UPDATED',
  'TOOL_DELETED',
] as const
