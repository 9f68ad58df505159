/** What the screens of tools read and do. */
import { command } from '../../api/command.ts'
import { graphql, type FragmentOf, type VariablesOf } from '../../api/document.ts'
import { faults } from '../../api/faults.ts'
import { t } from '../../texts/texts.tsx'

export const gateParts = graphql(`
  fragment Gate on GatePolicy {
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

const toolRow = graphql(
  `
    fragment ToolRow on Tool {
      __typename
      id
      name
      title
      description
      agentsOnly
      version
      updatedAt
      gate {
        ...Gate
      }
      annotations {
        destructiveHint
        readOnlyHint
      }
      ... on HttpTool {
        method
        url
      }
      ... on McpTool {
        url
        upstream {
          status
          error {
            message
          }
        }
        strictestGate {
          mode
          source
          quorum
          approvers
          timeoutSeconds
          excludeRequester
        }
        gates {
          action
        }
      }
    }
  `,
  [gateParts],
)

export const toolsQuery = graphql(
  `
    query Tools($projectId: ID, $kind: ToolKind, $name: String, $after: String) {
      tools(projectId: $projectId, kind: $kind, name: $name, first: 100, after: $after) {
        nodes {
          ...ToolRow
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  `,
  [toolRow],
)

const action = graphql(
  `
    fragment Action on ToolAction {
      action
      runtimeName
      title
      description
      inputSchema
      annotations {
        destructiveHint
      }
      gate {
        ...Gate
      }
      heldChange {
        changes
        hash
      }
    }
  `,
  [gateParts],
)

const toolDetail = graphql(
  `
    fragment ToolDetail on Tool {
      __typename
      id
      name
      title
      description
      inputSchema
      fullInputSchema
      outputSchema
      presetParameters
      agentsOnly
      idempotent
      timeoutMs
      version
      createdAt
      updatedAt
      task {
        mode
        inputPhase
      }
      annotations {
        title
        readOnlyHint
        destructiveHint
        idempotentHint
        openWorldHint
      }
      gate {
        ...Gate
      }
      ... on HttpTool {
        method
        url
        headers
      }
      ... on McpTool {
        url
        headers
        allow
        deny
        trustHints
        relay {
          resources
          prompts
        }
        auth {
          kind
          clientId
          secretName
          issuer
          scopes
          allowedScopes
          omitResource
          algorithm
        }
        gates {
          action
          gate {
            ...Gate
          }
        }
        actions {
          ...Action
        }
        upstream {
          status
        }
      }
      ... on PlatformTool {
        actions {
          ...Action
        }
      }
    }
  `,
  [gateParts, action],
)

export const toolQuery = graphql(
  `
    query ToolById($id: ID!) {
      tool(id: $id) {
        ...ToolDetail
      }
    }
  `,
  [toolDetail],
)

export const createToolMutation = graphql(
  `
    mutation CreateTool($input: CreateToolInput!) {
      createTool(input: $input) {
        __typename
        ... on ToolPayload {
          tool {
            ...ToolDetail
          }
        }
        ...Faults
      }
    }
  `,
  [toolDetail, faults],
)

export const updateToolMutation = graphql(
  `
    mutation UpdateTool($input: UpdateToolInput!) {
      updateTool(input: $input) {
        __typename
        ... on ToolPayload {
          tool {
            ...ToolDetail
          }
        }
        ...Faults
      }
    }
  `,
  [toolDetail, faults],
)

export const deleteToolMutation = command('deleteTool')

export const platformActionsQuery = graphql(`
  query PlatformActions {
    platformActions {
      name
      description
      annotations {
        destructiveHint
        readOnlyHint
      }
    }
  }
`)

export type ToolRow = FragmentOf<typeof toolRow>
export type ToolDetail = FragmentOf<typeof toolDetail>
export type Action = FragmentOf<typeof action>
export type Gate = FragmentOf<typeof gateParts>
export type CreateInput = VariablesOf<typeof createToolMutation>['input']
export type UpdateInput = VariablesOf<typeof updateToolMutation>['input']

/** Events after which tools may look different. */
export const toolTypes = [
  'TOOL_CREATED',
  'TOOL_UPDATED',
  'TOOL_DELETED',
  'GATE_CHANGED',
  'UPSTREAM_CHANGED',
  'UPSTREAM_STATUS',
] as const

/** The kinds of tools by the name of their type. */
export const kinds = {
  HttpTool: 'http',
  ClientTool: 'client',
  McpTool: 'mcp',
  PlatformTool: 'platform',
} as const
export type Kind = (typeof kinds)[keyof typeof kinds]

/** The kinds as they are shown. */
export const kindWords: Record<Kind, string> = {
  http: 'http',
  client: t('client'),
  mcp: 'mcp',
  platform: t('platform'),
}
