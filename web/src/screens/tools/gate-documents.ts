/** What is read and done about gates. */
import { command } from '../../api/command.ts'
import { graphql, type FragmentOf, type ResultOf } from '../../api/document.ts'
import { list } from '../../api/reads.ts'
import { principal } from '../../api/principal.ts'
import { gateParts } from '../../api/gate.ts'

export const previewQuery = graphql(`
  query PreviewGate($toolId: ID!, $action: String, $gate: GateInput!) {
    previewGate(toolId: $toolId, action: $action, gate: $gate, last: 200) {
      replayed
      stopped
      newlyStopped
      newlyPassing
      calls {
        id
        arguments
      }
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

export const adviceQuery = graphql(
  `
    query GateAdvice($toolId: ID!, $action: String) {
      gateAdvice(toolId: $toolId, action: $action) {
        kind
        title
        value
        approved
        since
        gate {
          ...Gate
        }
      }
    }
  `,
  [gateParts],
)

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

export const gateChangesQuery = list('gateChanges', gateChange, '$pending:Boolean')

export const decideChangeMutation = command('decideGateChange')

export type GateChange = FragmentOf<typeof gateChange>
export type Advice = NonNullable<ResultOf<typeof adviceQuery>['gateAdvice']>
export type Preview = ResultOf<typeof previewQuery>['previewGate']
