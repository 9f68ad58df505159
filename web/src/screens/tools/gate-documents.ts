/** What is read and done about gates. */
import { graphql, type FragmentOf, type ResultOf, type VariablesOf } from '../../api/document.ts'
import { principal } from '../../api/principal.ts'
import { faults } from '../../api/faults.ts'

export const previewQuery = graphql(`
  query PreviewGate($toolId: ID!, $action: String, $gate: GateInput!) {
    previewGate(toolId: $toolId, action: $action, gate: $gate, last: 200) {
      replayed
      stopped
      newlyStopped
      newlyPassing
      newlyStoppedCalls {
        id
        name
        arguments
        createdAt
      }
      newlyPassingCalls {
        id
        name
        arguments
        createdAt
      }
    }
  }
`)

export const rulesQuery = graphql(`
  query GateRules($projectId: ID!) {
    project(id: $projectId) {
      id
      gatesNeedSecond
    }
    viewer {
      id
    }
  }
`)

const gateChange = graphql(
  `
    fragment GateChange on GateChange {
      id
      targetId
      targetVersion
      change
      note
      status
      proposer {
        ...PrincipalParts
      }
      createdAt
      expiresAt
    }
  `,
  [principal],
)

export const gateChangesQuery = graphql(
  `
    query PendingGateChanges($projectId: ID, $after: String) {
      gateChanges(projectId: $projectId, pending: true, first: 100, after: $after) {
        nodes {
          ...GateChange
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  `,
  [gateChange],
)

export const proposeMutation = graphql(
  `
    mutation ProposeGateChange($input: ProposeGateChangeInput!) {
      proposeGateChange(input: $input) {
        __typename
        ...Faults
      }
    }
  `,
  [faults],
)

export const decideChangeMutation = graphql(
  `
    mutation DecideGateChange($input: DecideGateChangeInput!) {
      decideGateChange(input: $input) {
        __typename
        ...Faults
      }
    }
  `,
  [faults],
)

export type GateChange = FragmentOf<typeof gateChange>
export type Preview = ResultOf<typeof previewQuery>['previewGate']
export type ProposeInput = VariablesOf<typeof proposeMutation>['input']
