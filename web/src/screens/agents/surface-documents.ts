/** What is read of the surface of an agent. */
import { graphql } from '../../api/document.ts'
import { gateParts } from '../../api/gate.ts'
import { toolSizeParts } from '../../parts/tool-size.tsx'

/** What an agent may call, without the actions of its tools: these are read one tool at a time. */
export const surfaceQuery = graphql(
  `
    query AgentSurface($id: ID!) {
      agent(id: $id) {
        id
        collidingNames
        leftOut {
          name
          reason
        }
        toolLoading
        toolSize {
          all {
            ...ToolSizeParts
          }
          first {
            ...ToolSizeParts
          }
        }
        activeToolIds
        gate {
          ...Gate
        }
        tools {
          __typename
          id
          name
          title
          gate {
            ...Gate
          }
        }
        agents {
          id
          name
          gate {
            ...Gate
          }
        }
      }
    }
  `,
  [gateParts, toolSizeParts],
)

export const actionsQuery = graphql(
  `
    query SurfaceActions($id: ID!) {
      tool(id: $id) {
        id
        ... on McpTool {
          actions {
            action
            runtimeName
            gate {
              ...Gate
            }
          }
        }
        ... on PlatformTool {
          actions {
            action
            runtimeName
            gate {
              ...Gate
            }
          }
        }
      }
    }
  `,
  [gateParts],
)
