/** Retention: after how many days what goes, what that would be now, how far it is, and legal holds. */
import { useEffect } from 'react'
import { writeJson } from '../../../../../src/core/exact-json.ts'
import { serverNow } from '../../../api/clock.ts'
import { command } from '../../../api/command.ts'
import { graphql } from '../../../api/document.ts'
import { useMutation, useQuery } from '../../../api/query.ts'
import { useViewer } from '../../../api/viewer.ts'
import { Conflict } from '../../../parts/conflict.tsx'
import { Confirm } from '../../../parts/confirm.tsx'
import { isDeepSame } from '../../../parts/deep-same.ts'
import { Field, Refusal } from '../../../parts/fields.tsx'
import { Ago } from '../../../parts/moments.tsx'
import { useSettings } from '../../../parts/settings-form.tsx'
import { Failure, Skeleton } from '../../../parts/states.tsx'
import { toast } from '../../../parts/toasts.tsx'
import { t, T } from '../../../texts/texts.tsx'
import { Counts } from './counts.tsx'
import { Holds } from './holds.tsx'
import { useProgress } from './progress.ts'
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
        threads
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
        threads
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
type Numbers = Record<Kind, number>
const numbersOf = (days: Days) =>
  Object.fromEntries(kinds.map(([kind]) => [kind, Number(days[kind])])) as Numbers
const names = Object.fromEntries(kinds) as Record<Kind, string>

const eventTypes = [
  'RETENTION_CHANGED',
  'LEGAL_HOLD_PUT',
  'LEGAL_HOLD_LIFTED',
  'DATA_REMOVAL_REQUESTED',
  'DATA_REMOVAL_FINISHED',
] as const

/** While a sweep goes on or is due, how far it is is read so often, in milliseconds: a sweep tells of no batch. */
const sweepingMs = 2000

/** When how far it is is to be read again, in milliseconds from now; null: there will be no sweep. */
function againIn({ sweeping, nextAt }: { sweeping: boolean; nextAt: string | null }): number | null {
  if (sweeping) return sweepingMs
  return nextAt === null ? null : Math.max(sweepingMs, Date.parse(nextAt) - serverNow())
}

export function Retention() {
  const { data, error, isLoading, reload } = useQuery(retentionQuery, {}, { eventTypes })
  const viewer = useViewer()
  useEffect(() => {
    const ms = data ? againIn(data.retention) : null
    if (ms === null) return
    const timer = setTimeout(reload, ms)
    return () => clearTimeout(timer)
  }, [data, reload])
  if (isLoading) return <Skeleton />
  if (!data) return <Failure error={error} retry={reload} />
  const { retention } = data
  const progress = writeJson([retention.allRemoved, retention.lastFinishedAt])
  const saved = Object.fromEntries(kinds.map(([kind]) => [kind, String(retention[kind] ?? 0)])) as Days
  return (
    <>
      {error !== null && <Failure error={error} retry={reload} />}
      <p className="mute">
        {t(
          'Older data is deleted for good; 0 means never. Anything open, unknown or under a legal hold stays.',
        )}
      </p>
      <Settings
        saved={saved}
        version={retention.version}
        progress={progress}
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
      <Removals mayRemove={viewer?.may('retention:Remove') ?? false} progress={progress} />
    </>
  )
}

interface SettingsProps {
  saved: Days
  version: number
  progress: string
  maySet: boolean
  onSaved(): void
}

function Settings({ saved, version, progress, maySet, onSaved }: SettingsProps) {
  const { began, draft: days, setDraft: setDays, isEdited, isStale, start } = useSettings(saved)
  const form = useMutation(setMutation)
  const numbers = numbersOf(days)
  const isWhole = kinds.every(([kind]) => /^\d{1,5}$/.test(days[kind]))
  // What was saved comes back as somebody's change: it is one's own.
  if (isStale && isDeepSame(numbers, numbersOf(saved))) start(saved)
  const save = async () => {
    if (!(await form.send({ input: { ...numbers, expectedVersion: version } }))) return
    toast(t('The retention is saved.'), { tone: 'good' })
    onSaved()
  }
  const issues = form.refused?.issues ?? []
  return (
    <>
      {isStale && isEdited && !form.isRunning && (
        <Conflict
          base={began}
          mine={days}
          theirs={saved}
          nameOf={(name) => names[name as Kind]}
          onTake={(next) => {
            start(saved, next)
            form.clear()
          }}
        />
      )}
      <fieldset disabled={!maySet}>
        {kinds.map(([kind, label]) => (
          <Field
            key={kind}
            label={label}
            at={kind}
            type="number"
            value={days[kind]}
            onChange={(value) => setDays({ ...days, [kind]: value })}
            issues={issues}
          />
        ))}
      </fieldset>
      <Preview numbers={numbers} isWhole={isWhole} progress={progress} />
      {form.refused && issues.length === 0 && <Refusal message={form.refused.message} />}
      {maySet && (
        <div className="row">
          <Confirm
            needs="retention:Set"
            word={t('Save the retention')}
            question={t('Remove older data?')}
            isBusy={form.isRunning || !isWhole || !isEdited || isStale}
            onConfirm={() => void save()}
          >
            <p>{t('The first sweep begins at once. What it removes cannot be brought back.')}</p>
          </Confirm>
        </div>
      )}
    </>
  )
}

function Preview({ numbers, isWhole, progress }: { numbers: Numbers; isWhole: boolean; progress: string }) {
  const { data, error, reload } = useQuery(previewQuery, numbers, { eventTypes, skip: !isWhole })
  useProgress(progress, reload)
  return (
    <>
      <h2>{t('Preview')}</h2>
      {data ? (
        <>
          <Counts counts={data.retentionPreview.removed} />
          <Counts counts={data.retentionPreview.kept} />
        </>
      ) : (
        error !== null && <Failure error={error} retry={reload} />
      )}
    </>
  )
}
