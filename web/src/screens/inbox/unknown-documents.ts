/** What the list of unknown calls reads. */
import { graphql, type ResultOf } from '../../api/document.ts'
import { list } from '../../api/reads.ts'
import { voteParts } from '../../parts/votes.tsx'

const unknownRow = graphql(
  `
    fragment UnknownRow on ToolCall {
      id
      name
      arguments
      createdAt
      startedAt
      errorCode
      summary {
        parts {
          text
          isValue
        }
      }
      generation {
        id
      }
      tool {
        __typename
        id
      }
      approval {
        id
        status
        summary {
          parts {
            text
            isValue
          }
        }
        votes {
          ...VoteParts
        }
      }
      attempts {
        attempt
        startedAt
        outcome
        errorCode
        idempotencyKey
      }
    }
  `,
  [voteParts],
)
export const unknownQuery = list('toolCalls', unknownRow, '$filter:ToolCallFilter')

export type UnknownRow = ResultOf<typeof unknownQuery>['toolCalls']['nodes'][number]
