/** What is read of the surface of an agent. */
import { graphql } from '../../api/document.ts'
import { gate } from './documents.ts'

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
        activeToolIds
        gate {
          ...AgentGate
        }
        tools {
          __typename
          id
          name
          title
          gate {
            ...AgentGate
          }
        }
        agents {
          id
          name
          gate {
            ...AgentGate
          }
        }
      }
    }
  `,
  [gate],
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
              ...AgentGate
            }
          }
        }
        ... on PlatformTool {
          actions {
            action
            runtimeName
            gate {
              ...AgentGate
            }
          }
        }
      }
    }
  `,
  [gate],
)
