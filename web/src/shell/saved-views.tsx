/** Saved views: lists as they are filtered, sorted and grouped now, under a name, for oneself or for the project. */
import { Link, useLocation, useSearch } from 'wouter'
import { command } from '../api/command.ts'
import { graphql } from '../api/document.ts'
import { list } from '../api/reads.ts'
import { usePages } from '../api/pages.ts'
import { useMutation } from '../api/query.ts'
import { useProject } from '../api/session.ts'
import { useViewer } from '../api/viewer.ts'
import { ConfirmAction } from '../parts/confirm.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { fieldsOf, useDraft } from '../parts/draft-fields.tsx'
import { Refusal } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { Listing } from '../parts/listing.tsx'
import { placeAt } from '../parts/places.ts'
import { Foreign } from '../parts/text.tsx'
import { toast } from '../parts/toasts.tsx'
import { t } from '../texts/texts.tsx'

const viewRow = graphql(`
  fragment ViewRow on SavedView {
    id
    name
    address
    shared
  }
`)
export const savedViewsQuery = list('savedViews', viewRow)

const saveMutation = command('saveView')
const deleteMutation = command('deleteView')

const draftNames = { name: t('Name'), shared: t('For everybody in the project') }

/** The name of the screen of an address: a view is of one that may have been removed. */
function screenName(address: string): string {
  const [path = '', search = ''] = address.split('?')
  return placeAt(path, search)?.view?.name ?? t('Page not found')
}

export default function SavedViews({ onClose }: { onClose(): void }) {
  const [path] = useLocation()
  const search = useSearch()
  // The list, and not the request that stands beside it.
  const own = placeAt(path, search)?.view?.href.split('?')[0] ?? path
  const viewer = useViewer()
  const pages = usePages(savedViewsQuery, {})
  return (
    <Dialog title={t('Saved views')} onClose={onClose} wide>
      <div className="stack">
        {viewer?.may('views:Save') && (
          <SaveForm address={search ? `${own}?${search}` : own} onSaved={pages.reload} />
        )}
        <Listing
          pages={pages}
          label={t('Saved views')}
          columns={[t('Name'), t('Screen'), t('For'), '']}
          empty={{
            title: t('No saved views'),
            text: t('Filter, sort or group a list, then save it here under a name.'),
          }}
          renderRow={({ id, name, address, shared }) => (
            <tr key={id}>
              <td>
                <Link href={address} onClick={onClose}>
                  <Foreign text={name} max={80} />
                </Link>
              </td>
              <td>{screenName(address)}</td>
              <td>{shared ? t('everybody') : t('you')}</td>
              <td className="actions">
                <ConfirmAction
                  needs={shared ? 'views:Share' : 'views:Save'}
                  word={t('Delete')}
                  question={t('Delete {name}?', { name })}
                  mutation={deleteMutation}
                  variables={{ input: { viewId: id } }}
                  done={t('{name} is deleted.', { name })}
                  onEnd={pages.reload}
                />
              </td>
            </tr>
          )}
        />
      </div>
    </Dialog>
  )
}

function SaveForm({ address, onSaved }: { address: string; onSaved(): void }) {
  const projectId = useProject()
  const mayShare = useViewer()?.may('views:Share')
  const { draft, set: change } = useDraft({ name: '', shared: false })
  const form = useMutation(saveMutation)
  const isTaken = form.refused?.code === 'NAME_TAKEN'
  /** Another name, or another owner, is another view. */
  const set: typeof change = (part) => {
    form.clear()
    change(part)
  }
  const save = async () => {
    if (!(await form.send({ input: { ...draft, address, projectId, replace: isTaken } }))) return
    toast(t('{name} is saved.', { name: draft.name }), { tone: 'good' })
    set({ name: '' })
    onSaved()
  }
  const { text, check } = fieldsOf(draftNames, { draft, set, issues: form.refused?.issues ?? [] })
  return (
    <Form className="stack" label={t('Save this view')} onSubmit={save}>
      {text('name', {
        isRequired: true,
        hint: t('{screen}, as it is filtered now.', { screen: screenName(address) }),
      })}
      {mayShare && check('shared')}
      <Refusal message={form.refused?.message ?? null} />
      <div>
        <button type="submit" className="primary" disabled={form.isRunning || draft.name.trim() === ''}>
          {isTaken ? t('Replace the saved view') : t('Save this view')}
        </button>
      </div>
    </Form>
  )
}
