/** Legal holds: what is not removed, who said so and why. */
import { command } from '../../../api/command.ts'
import { graphql } from '../../../api/document.ts'
import { list } from '../../../api/reads.ts'
import { usePages } from '../../../api/pages.ts'
import { useMutation } from '../../../api/query.ts'
import { ConfirmAction } from '../../../parts/confirm.tsx'
import { fieldsOf, useDraft } from '../../../parts/draft-fields.tsx'
import { FormDialog } from '../../../parts/form-dialog.tsx'
import { ListSection } from '../../../parts/list-section.tsx'
import { Ago } from '../../../parts/moments.tsx'
import { Foreign } from '../../../parts/text.tsx'
import { t } from '../../../texts/texts.tsx'

const holdRow = graphql(`
  fragment HoldRow on LegalHold {
    id
    kind
    targetId
    reason
    createdAt
  }
`)
const holdsQuery = list('legalHolds', holdRow, '$active:Boolean')

const putMutation = command('putLegalHold')
const liftMutation = command('liftLegalHold')

const kinds = { PROJECT: t('the whole project'), RUN: t('a run'), REQUESTER: t('a requester') }

/** `mayHold`: whether the person that is signed in may put and lift holds. */
export function Holds({ mayHold }: { mayHold: boolean }) {
  const pages = usePages(holdsQuery, { active: true }, ['LEGAL_HOLD_PUT', 'LEGAL_HOLD_LIFTED'])
  const create = {
    id: 'hold',
    needs: 'retention:Hold',
    word: t('Place a hold'),
    look: 'plain' as const,
    render: (onClose: () => void) => <PutHold onClose={onClose} />,
  }
  return (
    <ListSection
      title={t('Legal holds')}
      {...(mayHold ? { create } : {})}
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
              <ConfirmAction
                needs="retention:Hold"
                word={t('Lift')}
                question={t('Lift this hold?')}
                mutation={liftMutation}
                variables={{ input: { holdId: hold.id } }}
                done={t('The hold is lifted.')}
                onEnd={pages.reload}
              >
                <p>{t('The next sweep removes what is old enough.')}</p>
              </ConfirmAction>
            )}
          </td>
        </tr>
      )}
    />
  )
}

const draftNames = { target: t('Run or requester'), reason: t('Reason') }

function PutHold({ onClose }: { onClose(): void }) {
  const { draft, set } = useDraft({ target: '', reason: '' })
  const form = useMutation(putMutation)
  const id = draft.target.trim()
  const member = id.startsWith('gen_') ? 'generationId' : 'requesterId'
  const save = async () => {
    if (await form.send({ input: { ...(id === '' ? {} : { [member]: id }), reason: draft.reason } }))
      onClose()
  }
  const { text } = fieldsOf(draftNames, { draft, set, issues: form.refused?.issues ?? [] })
  return (
    <FormDialog
      title={t('Place a hold')}
      submit={t('Place a hold')}
      isReady={draft.reason.trim() !== ''}
      form={form}
      onSubmit={save}
      onClose={onClose}
    >
      {text('target', {
        at: member,
        placeholder: 'gen_… key_… usr_…',
        hint: t('Empty keeps the whole project.'),
      })}
      {text('reason', { isRequired: true })}
    </FormDialog>
  )
}
