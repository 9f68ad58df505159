/** Legal holds: what is not removed, who said so and why. */
import { useState } from 'react'
import { command } from '../../../api/command.ts'
import { graphql } from '../../../api/document.ts'
import { usePages } from '../../../api/pages.ts'
import { useMutation } from '../../../api/query.ts'
import { ActionButton, Confirm } from '../../../parts/confirm.tsx'
import { Field } from '../../../parts/fields.tsx'
import { FormDialog } from '../../../parts/form-dialog.tsx'
import { Listing } from '../../../parts/listing.tsx'
import { Ago } from '../../../parts/moments.tsx'
import { Foreign } from '../../../parts/text.tsx'
import { useAction } from '../../../parts/use-action.ts'
import { t } from '../../../texts/texts.tsx'

const holdsQuery = graphql(`
  query LegalHolds($projectId: ID, $after: String) {
    legalHolds(projectId: $projectId, active: true, first: 50, after: $after) {
      nodes {
        id
        kind
        targetId
        reason
        createdAt
      }
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
`)

const putMutation = command('putLegalHold')
const liftMutation = command('liftLegalHold')

const kinds = { PROJECT: t('the whole project'), RUN: t('a run'), REQUESTER: t('a requester') }

/** `mayHold`: whether the person that is signed in may put and lift holds. */
export function Holds({ mayHold }: { mayHold: boolean }) {
  const [isOpen, setOpen] = useState(false)
  const pages = usePages(holdsQuery, {}, (data) => data.legalHolds, {
    eventTypes: ['LEGAL_HOLD_PUT', 'LEGAL_HOLD_LIFTED'],
  })
  const { act, isRunning } = useAction(liftMutation)
  return (
    <>
      <div className="row">
        <h2>{t('Legal holds')}</h2>
        {mayHold && (
          <ActionButton needs="retention:Hold" className="spread" onClick={() => setOpen(true)}>
            {t('Place a hold')}
          </ActionButton>
        )}
      </div>
      <Listing
        pages={pages}
        label={t('Legal holds')}
        columns={[t('Covers|hold'), t('Reason'), t('Placed'), '']}
        empty={{
          title: t('No legal holds'),
          text: t('A legal hold keeps data, whatever the settings say.'),
        }}
        renderRow={(hold) => (
          <tr key={hold.id}>
            <td>
              {kinds[hold.kind]} <span className="mono">{hold.targetId}</span>
            </td>
            <td>
              <Foreign text={hold.reason} max={200} />
            </td>
            <td>
              <Ago at={hold.createdAt} />
            </td>
            <td className="actions">
              {mayHold && (
                <Confirm
                  needs="retention:Hold"
                  word={t('Lift')}
                  question={t('Lift this hold?')}
                  isBusy={isRunning}
                  onConfirm={() =>
                    void act({ input: { holdId: hold.id } }, t('The hold is lifted.')).then(pages.reload)
                  }
                >
                  <p>{t('The next sweep removes what is old enough.')}</p>
                </Confirm>
              )}
            </td>
          </tr>
        )}
      />
      {isOpen && (
        <PutHold
          onClose={() => {
            setOpen(false)
            pages.reload()
          }}
        />
      )}
    </>
  )
}

function PutHold({ onClose }: { onClose(): void }) {
  const [target, setTarget] = useState('')
  const [reason, setReason] = useState('')
  const form = useMutation(putMutation)
  const issues = form.refused?.issues ?? []
  const save = async () => {
    const id = target.trim()
    const of = id === '' ? {} : id.startsWith('gen_') ? { generationId: id } : { requesterId: id }
    if (await form.send({ input: { ...of, reason } })) onClose()
  }
  return (
    <FormDialog
      title={t('Place a hold')}
      submit={t('Place a hold')}
      isReady={reason.trim() !== ''}
      form={form}
      onSubmit={save}
      onClose={onClose}
    >
      <Field
        label={t('Run or requester')}
        name={target.trim().startsWith('gen_') ? 'generationId' : 'requesterId'}
        issues={issues}
        value={target}
        onChange={setTarget}
        placeholder="gen_… key_… usr_…"
        hint={t('Empty keeps the whole project.')}
      />
      <Field
        label={t('Reason')}
        name="reason"
        value={reason}
        onChange={setReason}
        issues={issues}
        isRequired
      />
    </FormDialog>
  )
}
