/** The page of a list: its title, a filter by name, a table read page by page, and the way to a new one. */
import './forms.css'
import type { ComponentProps, ReactNode } from 'react'
import { useLocation } from 'wouter'
import { useAddress } from './address.ts'
import { SearchField } from './filters.tsx'
import { Icon } from './icons.tsx'
import { ActionButton } from './confirm.tsx'
import { actionsOf, kinds, type Kind } from './kinds.ts'
import { Listing } from './listing.tsx'
import { usePlace } from './place.ts'
import { useRowKeys } from './row-keys.ts'
import { t } from '../texts/texts.tsx'

interface Props<Node> extends ComponentProps<typeof Listing<Node>> {
  title: string
  /** The address of the list. */
  list: string
  /** Beside the title. */
  head?: ReactNode
  /** What its rows are, where they are created and filtered by name. */
  kind?: Kind
  bodyClass?: string
  /** Above the table. */
  children?: ReactNode
}

/** The name in the address by which the list is filtered; null: none. */
export const nameIn = (params: URLSearchParams) => params.get('q')?.trim() || null

export function ListPage<Node>({ title, list, head, kind, bodyClass = '', children, ...table }: Props<Node>) {
  const { params, replace } = useAddress()
  const [, open] = useLocation()
  usePlace(`${list}?${params}`, table.pages.nodes.length, table.pages)
  useRowKeys()
  return (
    <>
      <header className="screen-head">
        <h1>{title}</h1>
        {head}
        {kind && (
          <ActionButton
            needs={`${actionsOf[kind]}:Create`}
            className="primary spread"
            onClick={() => open(`${list}/new`)}
          >
            <Icon name="plus" /> {t('New {kind}', { kind: kinds[kind] })}
          </ActionButton>
        )}
      </header>
      <div className={`screen-body ${bodyClass}`}>
        {children}
        {kind && (
          <SearchField
            label={t('Filter by name')}
            value={params.get('q') ?? ''}
            isFirst
            onChange={(q) => replace({ q })}
          />
        )}
        <Listing {...table} />
      </div>
    </>
  )
}
