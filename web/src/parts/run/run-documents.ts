/** What the screen of one run reads and does. */
import { graphql, type FragmentOf } from '../../api/document.ts'
import { principal } from '../../api/principal.ts'
import { pauseParts } from '../paused.tsx'
import { toolSizeParts } from '../tool-size.tsx'
import { voteParts } from '../votes.tsx'

const failedAttempt = graphql(`
  fragment FailedAttemptParts on FailedAttempt {
    stepIndex
    attempt
    code
    message
    httpStatus
    model
    startedAt
    failedAt
  }
`)

const runFacts = graphql(
  `
    fragment RunFacts on Generation {
      id
      status
      stopReason
      truncated
      stepCount
      threadId
      depth
      requester {
        ...PrincipalParts
      }
      actsFor {
        ...PrincipalParts
      }
      createdAt
      startedAt
      finishedAt
      deadlineAt
      cancelRequestedAt
      cancelReason
      retryOf {
        id
      }
      retryStep
      retries(first: 5) {
        nodes {
          id
          status
          createdAt
        }
      }
      failedAttempts {
        ...FailedAttemptParts
      }
      pause {
        ...PauseParts
      }
      error {
        code
        message
      }
      output {
        object
      }
      model {
        name
        isAi
      }
      agent {
        id
        name
      }
      usage {
        inputTokens
        outputTokens
      }
      totalUsage {
        totalTokens
      }
      totalCost
      parent {
        id
        agent {
          name
        }
      }
      root {
        id
        agent {
          name
        }
      }
      requiredAction {
        toolCalls {
          id
          name
        }
        approvals {
          id
          toolCall {
            id
          }
          summary {
            parts {
              text
              isValue
            }
          }
        }
      }
    }
  `,
  [principal, failedAttempt, pauseParts],
)

const stepRow = graphql(
  `
    fragment StepRow on Step {
      id
      index
      attempt
      startedAt
      firstTokenAt
      createdAt
      failedAttempts {
        ...FailedAttemptParts
      }
      finishReason
      text
      reasoning
      notice
      elided
      leftOut {
        name
        reason
      }
      toolSize {
        ...ToolSizeParts
      }
      model {
        name
        isAi
      }
      usage {
        inputTokens
        outputTokens
      }
    }
  `,
  [failedAttempt, toolSizeParts],
)

const callRow = graphql(
  `
    fragment CallRow on ToolCall {
      id
      name
      action
      status
      stepIndex
      createdAt
      startedAt
      settledAt
      deadlineAt
      errorCode
      approval {
        id
        status
        createdAt
        settledAt
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
        endedAt
        outcome
        errorCode
      }
      child {
        id
        status
        stepCount
        agent {
          name
        }
      }
    }
  `,
  [voteParts],
)

/** The run, and of its steps and calls those that came after what is known, with the open ones as they are now. */
export const runQuery = graphql(
  `
    query Run($id: ID!, $afterStep: Int, $afterCall: ID, $open: [ID!]!) {
      generation(id: $id) {
        ...RunFacts
        steps(after: $afterStep) {
          ...StepRow
        }
        toolCalls(after: $afterCall, first: 200) {
          ...CallRow
        }
      }
      nodes(ids: $open) {
        __typename
        ... on ToolCall {
          ...CallRow
        }
      }
    }
  `,
  [runFacts, stepRow, callRow],
)

export const stepQuery = graphql(
  `
    query StepById($ids: [ID!]!) {
      nodes(ids: $ids) {
        __typename
        ... on Step {
          ...StepRow
        }
      }
    }
  `,
  [stepRow],
)

export type FailedAttempt = FragmentOf<typeof failedAttempt>
export type RunFacts = FragmentOf<typeof runFacts>
export type StepRow = FragmentOf<typeof stepRow>
export type CallRow = FragmentOf<typeof callRow>
