/** What the screens of tools read and do. */
import { gateParts } from '../../api/gate.ts'
import { command } from '../../api/command.ts'
import { graphql, type FragmentOf, type VariablesOf } from '../../api/document.ts'
import { list, one } from '../../api/reads.ts'
import { t } from '../../texts/texts.tsx'

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
          ...Gate
        }
        gates {
          action
        }
      }
    }
  `,
  [gateParts],
)

export const toolsQuery = list('tools', toolRow, '$kind:ToolKind $name:String')

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
        login
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
          audience
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

export const toolQuery = one('tool', toolDetail)

const toolAnswer = graphql(
  `
    fragment ToolAnswer on ToolPayload {
      tool {
        ...ToolDetail
      }
    }
  `,
  [toolDetail],
)
export const createToolMutation = command('createTool', toolAnswer)

export const updateToolMutation = command('updateTool', toolAnswer)

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
