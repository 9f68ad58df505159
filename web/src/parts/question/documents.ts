/** What is read and done about one question. */
import { graphql, type FragmentOf, type ResultOf } from '../../api/document.ts'
import { one } from '../../api/reads.ts'
import { principal } from '../../api/principal.ts'
import { faults } from '../../api/faults.ts'

export const question = graphql(
  `
    fragment Question on Approval {
      id
      status
      toolName
      summary {
        parts {
          text
          isValue
        }
      }
      arguments
      originalArguments
      digest
      createdAt
      expiresAt
      extendableUntil
      claim {
        by
        byName
        until
      }
      escalatedAt
      settledAt
      voidReason
      requester {
        ...PrincipalParts
      }
      question {
        title
        description
        inputSchema
      }
      viewerCanDecide {
        may
        why
      }
      viewerMustLogIn
      requirement {
        loginOf
        actsFor {
          ...PrincipalParts
        }
        quorum
        approvers
        excludeRequester
        responses
      }
      votes {
        verdict
        by
        byName
        at
        reason
        response
        stop
        note
      }
      agent {
        id
        name
      }
      tool {
        id
        title
        version
        inputSchema
        presetParameters
        annotations {
          destructiveHint
        }
      }
      toolVersion
      generation {
        id
        threadId
      }
      toolCall {
        id
        status
        stepIndex
        isError
        errorCode
        callerWaitsUntil
      }
    }
  `,
  [principal],
)

export const questionQuery = one('approval', question)

/** What the model wrote in the step that asks. */
export const saidQuery = graphql(`
  query Said($id: ID!, $after: Int!) {
    generation(id: $id) {
      id
      steps(after: $after, first: 1) {
        text
        model {
          name
        }
      }
    }
  }
`)

export const decideMutation = graphql(
  `
    mutation Decide($input: DecideApprovalInput!) {
      decideApproval(input: $input) {
        __typename
        ... on ApprovalPayload {
          approval {
            ...Question
          }
        }
        ... on ApprovalAlreadyDecidedError {
          approval {
            status
            votes {
              byName
            }
          }
        }
        ...Faults
      }
    }
  `,
  [question, faults],
)

export type Question = FragmentOf<typeof question>
export type DecideResult = ResultOf<typeof decideMutation>['decideApproval']

/** Events after which a question may look different. */
export const questionTypes = [
  'APPROVAL_REQUESTED',
  'APPROVAL_VOTED',
  'APPROVAL_DECIDED',
  'APPROVAL_EXPIRED',
  'APPROVAL_ESCALATED',
  'APPROVAL_VOIDED',
  'APPROVAL_CLAIMED',
  'APPROVAL_RELEASED',
  'APPROVAL_EXTENDED',
] as const
