/** A list with what creates its entries: a note or a title, the button, the table, and the dialog that the button opens. */
import type { ComponentProps, ReactNode } from 'react'
import { useViewer } from '../api/viewer.ts'
import { useNew } from './address.ts'
import { ActionButton } from './confirm.tsx'
import { Icon } from './icons.tsx'
import { Listing } from './listing.tsx'

interface Props<Node> extends ComponentProps<typeof Listing<Node>> {
  title?: string
  note?: ReactNode
  create?: {
    /** Its dialog is open while `?new=` of the address has it. */
    id: string
    /** The action that it takes. */
    needs: string
    word: string
    /** How the button looks; without a word it is the primary one of its screen. */
    look?: 'plain' | 'danger'
    render(onClose: () => void): ReactNode
  }
}

export function ListSection<Node>({ title, note, create, ...list }: Props<Node>) {
  return (
    <>
      <div className="row">
        {title && <h2>{title}</h2>}
        {note && <span className="mute">{note}</span>}
        {create && <Create {...create} reload={list.pages.reload} />}
      </div>
      <Listing {...list} />
    </>
  )
}

type CreateProps = NonNullable<Props<never>['create']> & { reload(): void }

function Create({ id, needs, word, look, render, reload }: CreateProps) {
  const [isOpen, setOpen] = useNew(id)
  const may = useViewer()?.may(needs) ?? false
  const close = () => {
    setOpen(false)
    reload()
  }
  return (
    <>
      <ActionButton needs={needs} className={`${look ?? 'primary'} spread`} onClick={() => setOpen(true)}>
        {!look && <Icon name="plus" />} {word}
      </ActionButton>
      {may && isOpen && render(close)}
    </>
  )
}
