/** Removals of what one requester has left: who asked for them, and how far they are. */
import { useState } from 'react'
import { command } from '../../../api/command.ts'
import { graphql } from '../../../api/document.ts'
import { usePages } from '../../../api/pages.ts'
import { useMutation } from '../../../api/query.ts'
import { ActionButton } from '../../../parts/confirm.tsx'
import { Field } from '../../../parts/fields.tsx'
import { FormDialog } from '../../../parts/form-dialog.tsx'
import { Listing } from '../../../parts/listing.tsx'
import { Ago } from '../../../parts/moments.tsx'
import { Foreign } from '../../../parts/text.tsx'
import { t, T } from '../../../texts/texts.tsx'
import { Counts } from './counts.tsx'
import { useProgress } from './progress.ts'

const removalsQuery = graphql(`
  query DataRemovals($projectId: ID, $after: String) {
    dataRemovals(projectId: $projectId, first: 50, after: $after) {
      nodes {
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
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
`)

const removeMutation = command('removeRequesterData')

interface Props {
  /** Whether the person that is signed in may request one. */
  mayRemove: boolean
  /** How far the sweeps are. */
  progress: string
}

export function Removals({ mayRemove, progress }: Props) {
  const [isOpen, setOpen] = useState(false)
  const pages = usePages(removalsQuery, {}, (data) => data.dataRemovals, {
    eventTypes: ['DATA_REMOVAL_REQUESTED', 'DATA_REMOVAL_FINISHED'],
  })
  useProgress(progress, pages.reload)
  return (
    <>
      <div className="row">
        <h2>{t('Data of one requester')}</h2>
        {mayRemove && (
          <ActionButton needs="retention:Remove" className="danger spread" onClick={() => setOpen(true)}>
            {t('Remove the data of a requester')}
          </ActionButton>
        )}
      </div>
      <Listing
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
              {removal.kept && (
                <Counts counts={{ ...removal.kept, calls: 0, keptCalls: removal.kept.calls }} />
              )}
            </td>
          </tr>
        )}
      />
      {isOpen && (
        <RemoveData
          onClose={() => {
            setOpen(false)
            pages.reload()
          }}
        />
      )}
    </>
  )
}

function RemoveData({ onClose }: { onClose(): void }) {
  const [requester, setRequester] = useState('')
  const [reason, setReason] = useState('')
  const form = useMutation(removeMutation)
  const issues = form.refused?.issues ?? []
  const save = async () => {
    const input = { requesterId: requester.trim(), reason: reason.trim() || null }
    if (await form.send({ input })) onClose()
  }
  return (
    <FormDialog
      title={t('Remove all data of this requester?')}
      submit={t('Remove it permanently')}
      isDanger
      isReady={requester.trim() !== ''}
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
      <Field
        label={t('Key or person')}
        name="requesterId"
        value={requester}
        onChange={setRequester}
        placeholder="key_… usr_…"
        issues={issues}
        isRequired
      />
      <Field label={t('Reason')} name="reason" value={reason} onChange={setReason} issues={issues} />
    </FormDialog>
  )
}
