/** Slack: where questions are posted with buttons, whether that works, its settings, and whose votes presses are. */
import { disabledReasons } from '../webhooks/status.tsx'
import './slack.css'
import { useEffect } from 'react'
import { RequestError } from '../../../api/client.ts'
import { useQuery } from '../../../api/query.ts'
import { useProject } from '../../../api/session.ts'
import { useViewer, type Viewer } from '../../../api/viewer.ts'
import { Badge } from '../../../parts/badge.tsx'
import { ConfirmAction } from '../../../parts/confirm.tsx'
import { CopyId } from '../../../parts/copy-id.tsx'
import { Fact } from '../../../parts/fact.tsx'
import { Ago } from '../../../parts/moments.tsx'
import { Principal } from '../../../parts/principal.tsx'
import { Failure, Skeleton } from '../../../parts/states.tsx'
import { Foreign } from '../../../parts/text.tsx'
import { useAction } from '../../../parts/use-action.ts'
import {
  deleteSlackMutation,
  setSlackMutation,
  slackQuery,
  slackTypes,
  type Integration,
} from './documents.ts'
import { SlackChecklist } from './checklist.tsx'
import { NoSlack } from './new.tsx'
import { SlackSettings } from './settings.tsx'
import { SlackUsers } from './users.tsx'
import { t } from '../../../texts/texts.tsx'

/** How often it is read again while Slack refuses something: the feed does not say when that is over. */
const faultyMs = 5_000

export function Slack() {
  const viewer = useViewer()
  const { data, error, reload } = useQuery(slackQuery, {}, { eventTypes: slackTypes })
  const integration = data?.slackIntegration
  const isFaulty = integration?.status === 'ENABLED' && integration.fault !== null
  useEffect(() => {
    if (!isFaulty) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') reload()
    }, faultyMs)
    return () => clearInterval(timer)
  })
  if (error && !data) {
    const isForbidden = error instanceof RequestError && error.code === 'FORBIDDEN'
    return isForbidden ? <Failure error={error} /> : <Failure error={error} retry={reload} />
  }
  if (!data || !viewer) return <Skeleton lines={8} />
  return (
    <div className="stack slack-page">
      {error !== null && <Failure error={error} retry={reload} />}
      {integration ? (
        <>
          <Standing integration={integration} viewer={viewer} reload={reload} />
          <SlackChecklist
            key={integration.updatedAt}
            integration={integration}
            mayTest={viewer.may('slack:Set')}
          />
          <SlackUsers integration={integration} viewer={viewer} reload={reload} />
          {viewer.may('slack:Set') && (
            <SlackSettings key={integration.id} integration={integration} viewer={viewer} reload={reload} />
          )}
        </>
      ) : (
        <NoSlack viewer={viewer} reload={reload} />
      )}
    </div>
  )
}

interface Props {
  integration: Integration
  viewer: Viewer
  reload(): void
}

function Status({ integration: { status, disabledReason, fault } }: Pick<Props, 'integration'>) {
  const isOff = status === 'DISABLED'
  const isByRequest = disabledReason === 'BY_REQUEST'
  const said = fault !== null && !isByRequest && (
    <>
      {isOff ? ': ' : `${t('Slack returned')} `}
      <Foreign text={fault} max={200} />
    </>
  )
  return (
    <span className="status-line" role="status" aria-label={t('Status')}>
      {isOff ? (
        <Badge status={isByRequest ? 'CANCELLED' : 'FAILED'} word={t('disabled')} />
      ) : (
        <Badge
          status={fault === null ? 'COMPLETED' : 'UNKNOWN'}
          word={fault === null ? t('enabled') : t('waits for Slack')}
        />
      )}
      <span className="small mute">
        {disabledReason && disabledReasons[disabledReason]}
        {said}
      </span>
    </span>
  )
}

function Standing({ integration, viewer, reload }: Props) {
  const { teamName, teamId, channel, showArguments, interactionsUrl, creator, updatedAt } = integration
  return (
    <section className="stack" aria-label={t('Integration')}>
      <div className="row">
        <Status integration={integration} />
        <span className="row spread">
          <Turn integration={integration} viewer={viewer} reload={reload} />
          {viewer.may('slack:Delete') && <DeleteSlack reload={reload} />}
        </span>
      </div>
      <dl className="facts">
        <Fact name={t('Workspace')}>
          <CopyId id={teamId}>
            <Foreign text={teamName || teamId} max={80} />
          </CopyId>
        </Fact>
        <Fact name={t('Channel')}>
          <CopyId id={channel} />
        </Fact>
        <Fact name={t('Messages')}>{showArguments ? t('with arguments') : t('without arguments')}</Fact>
        <Fact name={t('Set up by')}>
          <Principal of={creator} />
        </Fact>
        <Fact name={t('Changed')}>
          <Ago at={updatedAt} />
        </Fact>
      </dl>
      <div className="panel slack-address">
        <span className="small mute">
          {t('Request URL of the app’s interactivity, which Slack must reach; without it no press arrives:')}
        </span>
        <CopyId id={interactionsUrl} label={t('Request URL')} />
      </div>
    </section>
  )
}

function Turn({ integration, viewer, reload }: Props) {
  const projectId = useProject()
  const { act, isRunning } = useAction(setSlackMutation)
  if (!viewer.may('slack:Set')) return null
  const isEnabled = integration.status === 'ENABLED'
  const done = isEnabled
    ? t('Nothing more is posted. Its place in the log is kept.')
    : t('It goes on where it stopped.')
  return (
    <button
      type="button"
      className={isEnabled ? undefined : 'primary'}
      disabled={isRunning}
      onClick={() => void act({ input: { projectId, enabled: !isEnabled } }, done).then(reload)}
    >
      {isEnabled ? t('Disable') : t('Enable again')}
    </button>
  )
}

function DeleteSlack({ reload }: Pick<Props, 'reload'>) {
  const projectId = useProject()
  return (
    <ConfirmAction
      needs="slack:Delete"
      word={t('Delete')}
      question={t('Delete the Slack integration?')}
      mutation={deleteSlackMutation}
      variables={{ input: { projectId } }}
      done={t('The Slack integration is deleted.')}
      onEnd={reload}
    >
      <p>
        {t(
          'Its users are unlinked, and token and signing secret are deleted. Messages stay in Slack, but their buttons no longer decide anything.',
        )}
      </p>
    </ConfirmAction>
  )
}
