/** What the tour reads and does. */
import { graphql, type ResultOf } from '../../api/document.ts'

export const tourQuery = graphql(`
  query Tour {
    viewer {
      tour {
        agentId
        toolId
        prompt
        processId
        startedAt
        canKill
        effects
      }
    }
  }
`)

/** The newest refund of the demo that stopped at its gate. */
export const refundQuery = graphql(`
  query TourRefund($agentId: ID!, $toolId: ID!) {
    approvals(filter: { agentId: $agentId, toolId: $toolId }, first: 1) {
      nodes {
        id
        status
        createdAt
        generation {
          id
        }
        toolCall {
          status
          attempts {
            outcome
          }
        }
      }
    }
  }
`)

/** Events after which the refund, or what it has done, is another. */
export const refundTypes = [
  'APPROVAL_REQUESTED',
  'APPROVAL_DECIDED',
  'APPROVAL_EXPIRED',
  'APPROVAL_VOIDED',
  'TOOL_CALL_STARTED',
  'TOOL_CALL_SETTLED',
  'GENERATION_COMPLETED',
] as const

export type Tour = NonNullable<ResultOf<typeof tourQuery>['viewer']['tour']>
export type Refund = ResultOf<typeof refundQuery>['approvals']['nodes'][number]
