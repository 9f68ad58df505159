/** What starts runs of an agent by itself: its schedules, and its URLs for signed messages. */
import { useState } from 'react'
import { Link } from 'wouter'
import { usePages } from '../../api/pages.ts'
import { useViewer } from '../../api/viewer.ts'
import { ActionButton, ConfirmAction } from '../../parts/confirm.tsx'
import { CopyId } from '../../parts/copy-id.tsx'
import { Icon } from '../../parts/icons.tsx'
import { ListSection } from '../../parts/list-section.tsx'
import { Ago } from '../../parts/moments.tsx'
import { SecretOnce } from '../../parts/secret-once.tsx'
import { Foreign } from '../../parts/text.tsx'
import { useAction } from '../../parts/use-action.ts'
import { locale, plural, t } from '../../texts/texts.tsx'
import { EditTrigger, NewTrigger } from './new-trigger.tsx'
import {
  deleteTriggerMutation,
  rotateMutation,
  startTriggerMutation,
  triggersQuery,
  triggerTypes,
  updateTriggerMutation,
  type TriggerRow,
} from './trigger-documents.ts'

/** The secret of a hook, while it is shown. */
interface Shown {
  secret: string
  url: string | null
}

export function Triggers({ agentId }: { agentId: string }) {
  const [shown, setShown] = useState<Shown | null>(null)
  const pages = usePages(triggersQuery, { agentId }, triggerTypes)
  return (
    <>
      <ListSection
        note={t('Runs that start on a schedule or by signed messages.')}
        create={{
          id: 'trigger',
          needs: 'triggers:Create',
          word: t('New trigger'),
          render: (onClose) => <NewTrigger agentId={agentId} onSecret={setShown} onClose={onClose} />,
        }}
        pages={pages}
        label={t('Triggers')}
        columns={[t('Trigger'), t('When'), t('Last run'), '']}
        empty={{ title: t('No triggers'), text: t('Schedules and URLs that start runs appear here.') }}
        renderRow={(trigger) => <Row key={trigger.id} trigger={trigger} onSecret={setShown} />}
      />
      {shown && (
        <SecretOnce
          title={t('The signing secret')}
          secret={shown.secret}
          onClose={() => setShown(null)}
          note={shown.url && <CopyId id={shown.url} label={t('address')} />}
        >
          {t('Messages to this URL are signed with it.')}
        </SecretOnce>
      )}
    </>
  )
}

function Row({ trigger, onSecret }: { trigger: TriggerRow; onSecret(shown: Shown): void }) {
  return (
    <tr>
      <td>
        <Foreign text={trigger.name} max={100} />
        <div className="small mute">
          <Foreign text={trigger.prompt} max={120} />
        </div>
      </td>
      <td>
        <When trigger={trigger} />
      </td>
      <td>
        <LastRun trigger={trigger} />
      </td>
      <td>
        <Actions trigger={trigger} onSecret={onSecret} />
      </td>
    </tr>
  )
}

function When({ trigger: { enabled, url, cron, timeZone, nextTimes } }: { trigger: TriggerRow }) {
  const off = !enabled && <div className="tone-warn">{t('turned off')}</div>
  if (url)
    return (
      <>
        <CopyId id={url} label={t('address')} />
        {off}
      </>
    )
  const shown = new Intl.DateTimeFormat(locale, {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: timeZone ?? 'UTC',
  })
  return (
    <>
      <span className="mono">{cron}</span> <span className="mute">{timeZone}</span>
      {off}
      {nextTimes.map((at) => (
        <div key={at} className="small mute">
          <time dateTime={at}>{shown.format(new Date(at))}</time>
        </div>
      ))}
    </>
  )
}

function LastRun({ trigger: { lastAt, lastError, lastGeneration, missed } }: { trigger: TriggerRow }) {
  if (!lastAt) return <span className="mute">{t('never')}</span>
  return (
    <>
      {lastGeneration ? (
        <Link href={`/runs/${lastGeneration.id}`}>
          <Ago at={lastAt} />
        </Link>
      ) : (
        <Ago at={lastAt} />
      )}
      {lastError && (
        <div className="small tone-bad">
          <Foreign text={lastError} max={300} />
        </div>
      )}
      {missed > 0 && (
        <div className="small mute">{plural(missed, '1 time was missed', '{count} times were missed')}</div>
      )}
    </>
  )
}

function Actions({ trigger, onSecret }: { trigger: TriggerRow; onSecret(shown: Shown): void }) {
  const { id: triggerId, name, enabled, url, version } = trigger
  const viewer = useViewer()
  const [edited, setEdited] = useState<TriggerRow | null>(null)
  const update = useAction(updateTriggerMutation)
  const start = useAction(startTriggerMutation)
  const rotate = useAction(rotateMutation)
  const turn = () => update.act({ input: { triggerId, enabled: !enabled, expectedVersion: version } })
  const renew = async () => {
    const answer = await rotate.act({ input: { triggerId } })
    if (answer?.secret) onSecret({ secret: answer.secret, url })
  }
  return (
    <div className="row">
      {!url && viewer?.may('generations:Start') && (
        <ActionButton
          needs="generations:Start"
          disabled={start.isRunning}
          onClick={() => void start.act({ input: { triggerId } }, t('The run was started.'), 'good')}
        >
          <Icon name="play" /> {t('Run now')}
        </ActionButton>
      )}
      {viewer?.may('triggers:Update') && (
        <>
          <ActionButton needs="triggers:Update" onClick={() => setEdited(trigger)}>
            {t('Change')}
          </ActionButton>
          <ActionButton needs="triggers:Update" disabled={update.isRunning} onClick={() => void turn()}>
            {enabled ? t('Turn off') : t('Turn on')}
          </ActionButton>
        </>
      )}
      {edited && <EditTrigger trigger={edited} onClose={() => setEdited(null)} />}
      {url && viewer?.may('triggers:Update') && (
        <ActionButton needs="triggers:Update" disabled={rotate.isRunning} onClick={() => void renew()}>
          {t('New secret')}
        </ActionButton>
      )}
      {viewer?.may('triggers:Delete') && (
        <ConfirmAction
          needs="triggers:Delete"
          word={t('Delete')}
          question={t('Delete the trigger “{name}”?', { name })}
          mutation={deleteTriggerMutation}
          variables={{ input: { triggerId } }}
          done={null}
        >
          <p>{t('It no longer starts runs. Runs it started stay.')}</p>
        </ConfirmAction>
      )}
    </div>
  )
}
