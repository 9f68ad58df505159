/** What the pane of one call reads and does. */
import { graphql, type ResultOf } from '../../api/document.ts'
import { command } from '../../api/command.ts'
import { principal } from '../../api/principal.ts'
import { voteParts } from '../votes.tsx'

export const callQuery = graphql(
  `
    query Call($id: ID!) {
      toolCall(id: $id) {
        id
        name
        action
        status
        stepIndex
        source
        createdAt
        startedAt
        settledAt
        deadlineAt
        isError
        errorCode
        arguments
        rawArguments
        editedArguments
        content
        structuredContent
        requester {
          ...PrincipalParts
        }
        actsFor {
          ...PrincipalParts
        }
        toolVersion
        resolution
        resolver {
          ...PrincipalParts
        }
        resolvedAt
        attempts {
          attempt
          startedAt
          endedAt
          outcome
          errorCode
          idempotencyKey
        }
        approval {
          id
          status
          settledAt
          votes {
            ...VoteParts
          }
        }
        grant {
          id
        }
        attachments {
          id
          filename
        }
        tool {
          id
          name
          inputSchema
          outputSchema
        }
        askedAgent {
          id
          name
        }
        child {
          id
          status
        }
        generation {
          id
        }
      }
    }
  `,
  [principal, voteParts],
)

const submitAnswer = graphql(`
  fragment SubmitOutputsAnswer on SubmitToolOutputsPayload {
    outcomes {
      status
      error {
        code
        message
      }
    }
  }
`)
export const submitMutation = command('submitToolOutputs', submitAnswer)

export type Call = NonNullable<ResultOf<typeof callQuery>['toolCall']>
