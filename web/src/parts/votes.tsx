/** Who decided about a call: each vote with its person, how it was given, and why. */
import { graphql, type FragmentOf } from '../api/document.ts'
import { Principal } from './principal.tsx'
import { Foreign } from './text.tsx'
import { t } from '../texts/texts.tsx'

/** What is shown of a vote. */
export const voteParts = graphql(`
  fragment VoteParts on ApprovalVote {
    verdict
    by
    byName
    via
    reason
    response
    stop
  }
`)

const ways: Record<string, string> = {
  KEY: t('with a key'),
  SESSION: t('in the dashboard'),
  SLACK: t('in Slack'),
  LINK: t('by a link'),
}

/** How a vote was given, in words; null for votes of earlier releases. */
export const wayOf = (via: string | null): string | null => (via === null ? null : (ways[via] ?? via))

/** The votes, each in a line. `status` is that of the approval: a verdict that is the same is not repeated. */
export function Votes({ votes, status }: { votes: readonly FragmentOf<typeof voteParts>[]; status: string }) {
  return (
    <ul className="votes lined">
      {votes.map(({ verdict, by, byName, via, reason, response, stop }) => (
        <li key={`${by} ${verdict}`}>
          <Principal of={{ id: by, name: byName }} />
          <span className="small mute">
            {response !== null
              ? ` ${t('answered in place of the tool')}`
              : !status.startsWith(verdict) && ` ${verdict === 'APPROVE' ? t('approved') : t('rejected')}`}
            {stop && ` ${t('and ended what asked')}`}
            {via !== null && ` ${wayOf(via)}`}
          </span>
          {(response ?? reason) !== null && (
            <span className="votes-reason">
              “<Foreign text={response ?? reason ?? ''} max={2000} />”
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}
