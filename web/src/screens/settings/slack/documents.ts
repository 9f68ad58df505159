/** What the screen of Slack reads and does. */
import { command } from '../../../api/command.ts'
import { graphql, type ResultOf } from '../../../api/document.ts'
import type { EventType } from '../../../api/feed.ts'
import { principal } from '../../../api/principal.ts'

/** After these the integration or its users may be others. */
export const slackTypes = [
  'SLACK_SET',
  'SLACK_DISABLED',
  'SLACK_DELETED',
] as const satisfies readonly EventType[]

export const slackQuery = graphql(
  `
    query Slack($projectId: ID) {
      slackIntegration(projectId: $projectId) {
        id
        teamId
        teamName
        channel
        showArguments
        status
        disabledReason
        disabledAt
        fault
        verifiedAt
        interactionsUrl
        createdAt
        updatedAt
        creator {
          ...PrincipalParts
        }
        users {
          slackUserId
          createdAt
          principal {
            ...PrincipalParts
          }
          creator {
            ...PrincipalParts
          }
        }
      }
    }
  `,
  [principal],
)
export type Integration = NonNullable<ResultOf<typeof slackQuery>['slackIntegration']>
export type SlackUser = Integration['users'][number]

export const setSlackMutation = command('setSlackIntegration')

export const deleteSlackMutation = command('deleteSlackIntegration')

export const linkUserMutation = command('linkSlackUser')

const testSlackAnswer = graphql(`
  fragment TestSlackAnswer on TestSlackIntegrationPayload {
    tokenFault
    channelFault
  }
`)
export const testSlackMutation = command('testSlackIntegration', testSlackAnswer)

/** What Slack said to a test; null before one. */
export type SlackTrial = { tokenFault: string | null; channelFault: string | null } | null
