/** The log of a run as it is read. */
import { graphql, type ResultOf } from '../../api/document.ts'
import { principal } from '../../api/principal.ts'

export const eventsQuery = graphql(
  `
    query RunLog($id: ID!, $after: String) {
      generation(id: $id) {
        events(after: $after, first: 100) {
          nodes {
            __typename
            type
            at
            cursor
            ... on ToolCallProposedEvent {
              name
              stepIndex
              toolCall {
                id
              }
            }
            ... on ToolCallStartedEvent {
              name
              attempt
              toolCall {
                id
              }
            }
            ... on ToolCallSettledEvent {
              name
              status
              toolCall {
                id
              }
            }
            ... on MessageCommittedEvent {
              stepIndex
            }
            ... on StepResetEvent {
              stepIndex
              attempt
              reason
            }
            ... on ApprovalRequestedEvent {
              name
              descendantId
            }
            ... on ApprovalVotedEvent {
              name
              verdict
              decider {
                ...PrincipalParts
              }
            }
            ... on ApprovalDecidedEvent {
              name
              verdict
              decider {
                ...PrincipalParts
              }
            }
            ... on ApprovalExpiredEvent {
              name
            }
            ... on ApprovalEscalatedEvent {
              name
            }
            ... on ApprovalVoidedEvent {
              name
              reason
            }
            ... on ChildStartedEvent {
              name
              childId
            }
            ... on ChildEndedEvent {
              name
              childId
              status
            }
            ... on GenerationCompletedEvent {
              stopReason
            }
            ... on GenerationFailedEvent {
              code
            }
          }
          pageInfo {
            endCursor
            hasNextPage
          }
        }
      }
    }
  `,
  [principal],
)

export type LogEvent = NonNullable<ResultOf<typeof eventsQuery>['generation']>['events']['nodes'][number]
