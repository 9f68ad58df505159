/** Retention: after how many days what goes, what that would be now, how far it is, and legal holds. */
import { useEffect, useState } from 'react'
import { command } from '../../../api/command.ts'
import { graphql } from '../../../api/document.ts'
import { useMutation, useQuery } from '../../../api/query.ts'
import { useViewer } from '../../../api/viewer.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { Field, Refusal } from '../../../parts/fields.tsx'
import { Ago } from '../../../parts/moments.tsx'
import { Failure, Skeleton } from '../../../parts/states.tsx'
import { toast } from '../../../parts/toasts.tsx'
import { t, T } from '../../../texts/texts.tsx'
import { Counts } from './counts.tsx'
import { Holds } from './holds.tsx'
import { Removals } from './removals.tsx'

const retentionQuery = graphql(`
  query Retention($projectId: ID) {
    retention(projectId: $projectId) {
      runDays
      eventDays
      fileDays
      deliveryDays
      auditDays
      version
      sweeping
      lastFinishedAt
      nextAt
      allRemoved {
        runs
        calls
        events
        files
        deliveries
        auditEntries
      }
    }
  }
`)

const previewQuery = graphql(`
  query RetentionPreview(
    $projectId: ID
    $runDays: Int
    $eventDays: Int
    $fileDays: Int
    $deliveryDays: Int
    $auditDays: Int
  ) {
    retentionPreview(
      projectId: $projectId
      runDays: $runDays
      eventDays: $eventDays
      fileDays: $fileDays
      deliveryDays: $deliveryDays
      auditDays: $auditDays
    ) {
      removed {
        runs
        calls
        events
        files
        deliveries
        auditEntries
      }
      kept {
        held
        open
        unknown
        retried
        inUse
        recent
      }
    }
  }
`)

const setMutation = command('setRetention')

const kinds = [
  ['runDays', t('Finished runs and calls, in days')],
  ['eventDays', t('Events of no run, in days')],
  ['fileDays', t('Files that nothing names, in days')],
  ['deliveryDays', t('Settled deliveries, in days')],
  ['auditDays', t('Audit entries, in days')],
] as const
type Kind = (typeof kinds)[number][0]
type Days = Record<Kind, string>

const eventTypes = [
  'RETENTION_CHANGED',
  'LEGAL_HOLD_PUT',
  'LEGAL_HOLD_LIFTED',
  'DATA_REMOVAL_REQUESTED',
  'DATA_REMOVAL_FINISHED',
] as const

/** While a sweep goes on, how far it is is read so often, in milliseconds: a sweep tells of no batch. */
const sweepingMs = 2000

export function Retention() {
  const { data, error, isLoading, reload } = useQuery(retentionQuery, {}, { eventTypes })
  const viewer = useViewer()
  const isSweeping = data?.retention.sweeping ?? false
  useEffect(() => {
    if (!isSweeping) return
    const timer = setInterval(reload, sweepingMs)
    return () => clearInterval(timer)
  }, [isSweeping, reload])
  if (isLoading) return <Skeleton />
  if (!data) return <Failure error={error} retry={reload} />
  const { retention } = data
  const saved = Object.fromEntries(kinds.map(([kind]) => [kind, String(retention[kind] ?? 0)])) as Days
  return (
    <>
      <p className="mute">
        {t('What is older goes for good. 0 is never. What is open, unknown or under a legal hold stays.')}
      </p>
      <Settings
        key={retention.version}
        saved={saved}
        version={retention.version}
        maySet={viewer?.may('retention:Set') ?? false}
        onSaved={reload}
      />
      <h2>{t('What was removed')}</h2>
      <Counts counts={retention.allRemoved} />
      <p className="mute">
        {retention.sweeping && <span>{t('A sweep is under way.')} </span>}
        {retention.lastFinishedAt && (
          <T text="The last sweep ended {when}." when={<Ago at={retention.lastFinishedAt} />} />
        )}
      </p>
      <Holds mayHold={viewer?.may('retention:Hold') ?? false} />
      <Removals mayRemove={viewer?.may('retention:Remove') ?? false} />
    </>
  )
}

interface SettingsProps {
  saved: Days
  version: number
  maySet: boolean
  onSaved(): void
}

function Settings({ saved, version, maySet, onSaved }: SettingsProps) {
  const [days, setDays] = useState(saved)
  const form = useMutation(setMutation)
  const numbers = Object.fromEntries(kinds.map(([kind]) => [kind, Number(days[kind])])) as Record<
    Kind,
    number
  >
  const isWhole = kinds.every(([kind]) => /^\d{1,5}$/.test(days[kind]))
  const preview = useQuery(previewQuery, numbers, { eventTypes, skip: !isWhole })
  const isChanged = kinds.some(([kind]) => days[kind] !== saved[kind])
  const save = async () => {
    if (!(await form.send({ input: { ...numbers, expectedVersion: version } }))) return
    toast(t('The retention is saved.'), { tone: 'good' })
    onSaved()
  }
  const issues = form.refused?.issues ?? []
  return (
    <>
      <fieldset disabled={!maySet}>
        {kinds.map(([kind, label]) => (
          <Field
            key={kind}
            label={label}
            name={kind}
            type="number"
            value={days[kind]}
            onChange={(value) => setDays({ ...days, [kind]: value })}
            issues={issues}
          />
        ))}
      </fieldset>
      <h2>{t('What that would remove now')}</h2>
      {preview.data ? (
        <>
          <Counts counts={preview.data.retentionPreview.removed} />
          <Counts counts={preview.data.retentionPreview.kept} />
        </>
      ) : (
        preview.error !== null && <Failure error={preview.error} retry={preview.reload} />
      )}
      {form.refused && issues.length === 0 && <Refusal message={form.refused.message} />}
      {maySet && (
        <div className="row">
          <Confirm
            word={t('Save the retention')}
            question={t('Remove what is older?')}
            isBusy={form.isRunning || !isWhole || !isChanged}
            onConfirm={() => void save()}
          >
            <p>{t('The first sweep begins at once. What it removes cannot be brought back.')}</p>
          </Confirm>
        </div>
      )}
    </>
  )
}
