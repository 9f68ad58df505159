/** Removals of what one requester has left: who asked for them, and how far they are. */
import { command } from '../../../api/command.ts'
import { graphql } from '../../../api/document.ts'
import { list } from '../../../api/reads.ts'
import { usePages } from '../../../api/pages.ts'
import { useMutation } from '../../../api/query.ts'
import { fieldsOf, useDraft } from '../../../parts/draft-fields.tsx'
import { FormDialog } from '../../../parts/form-dialog.tsx'
import { ListSection } from '../../../parts/list-section.tsx'
import { Ago } from '../../../parts/moments.tsx'
import { Foreign } from '../../../parts/text.tsx'
import { t, T } from '../../../texts/texts.tsx'
import { Counts } from './counts.tsx'
import { useProgress } from './progress.ts'

const removalRow = graphql(`
  fragment RemovalRow on DataRemoval {
    id
    requesterId
    reason
    createdAt
    finishedAt
    removed {
      runs
      calls
      threads
      files
    }
    kept {
      held
      open
      unknown
      retried
      inUse
      recent
      calls
    }
  }
`)
const removalsQuery = list('dataRemovals', removalRow)

const removeMutation = command('removeRequesterData')

interface Props {
  /** Whether the person that is signed in may request one. */
  mayRemove: boolean
  /** How far the sweeps are. */
  progress: string
}

export function Removals({ mayRemove, progress }: Props) {
  const pages = usePages(removalsQuery, {}, ['DATA_REMOVAL_REQUESTED', 'DATA_REMOVAL_FINISHED'])
  useProgress(progress, pages.reload)
  const create = {
    id: 'removal',
    needs: 'retention:Remove',
    word: t('Remove the data of a requester'),
    look: 'danger' as const,
    render: (onClose: () => void) => <RemoveData onClose={onClose} />,
  }
  return (
    <ListSection
      title={t('Data of one requester')}
      {...(mayRemove ? { create } : {})}
      pages={pages}
      label={t('Data of one requester')}
      columns={[t('Requester'), t('Reason'), t('Requested'), t('So far')]}
      empty={{
        title: t('No removals'),
        text: t('All data of one key or person can be removed, whatever the settings say.'),
      }}
      renderRow={(removal) => (
        <tr key={removal.id}>
          <td className="mono">{removal.requesterId}</td>
          <td>{removal.reason && <Foreign text={removal.reason} max={200} />}</td>
          <td>
            <Ago at={removal.createdAt} />
          </td>
          <td>
            {removal.finishedAt ? (
              <T text="ended {when}" when={<Ago at={removal.finishedAt} />} />
            ) : (
              t('in progress: data that ended within a day follows')
            )}
            <Counts counts={removal.removed} />
            {removal.kept && <Counts counts={{ ...removal.kept, calls: 0, keptCalls: removal.kept.calls }} />}
          </td>
        </tr>
      )}
    />
  )
}

const draftNames = { requesterId: t('Key or person'), reason: t('Reason') }

function RemoveData({ onClose }: { onClose(): void }) {
  const { draft, set } = useDraft({ requesterId: '', reason: '' })
  const form = useMutation(removeMutation)
  const requesterId = draft.requesterId.trim()
  const save = async () => {
    if (await form.send({ input: { requesterId, reason: draft.reason.trim() || null } })) onClose()
  }
  const { text } = fieldsOf(draftNames, { draft, set, issues: form.refused?.issues ?? [] })
  return (
    <FormDialog
      title={t('Remove all data of this requester?')}
      submit={t('Remove it permanently')}
      isDanger
      isReady={requesterId !== ''}
      form={form}
      onSubmit={save}
      onClose={onClose}
      cancel={t('Cancel')}
    >
      <p>
        {t(
          'Finished runs, calls and files of this key or person are deleted for good. A line for each call and decision stays.',
        )}
      </p>
      {text('requesterId', { placeholder: 'key_… usr_…', isRequired: true })}
      {text('reason')}
    </FormDialog>
  )
}
