/** What the list of decided questions reads. */
import { graphql, type ResultOf } from '../../api/document.ts'
import { list } from '../../api/reads.ts'
import { principal } from '../../api/principal.ts'

const decidedRow = graphql(
  `
    fragment DecidedRow on Approval {
      id
      status
      voidReason
      toolName
      summary {
        text
        parts {
          text
          isValue
        }
      }
      arguments
      originalArguments
      createdAt
      settledAt
      requester {
        ...PrincipalParts
      }
      votes {
        verdict
        by
        byName
        at
        via
        reason
        response
        stop
        note
      }
      agent {
        id
        name
      }
      generation {
        id
      }
      toolCall {
        id
        status
        errorCode
      }
    }
  `,
  [principal],
)
export const decidedQuery = list('approvals', decidedRow, '$filter:ApprovalFilter $orderBy:ApprovalOrder')

export const tallyQuery = graphql(`
  query DecidedTally($projectId: ID, $filter: ApprovalFilter, $by: ApprovalGrouping) {
    approvalTally(projectId: $projectId, filter: $filter, by: $by) {
      isComplete
      total {
        approved
        rejected
        expired
        voided
      }
      groups {
        id
        toolName
        agent {
          name
        }
        approved
        rejected
        expired
        voided
      }
    }
  }
`)

export type DecidedRow = ResultOf<typeof decidedQuery>['approvals']['nodes'][number]
export type Tally = ResultOf<typeof tallyQuery>['approvalTally']
