/** The page of one thing: its title with the way back to the list, and its parts, one below the other or as tabs. */
import { Fragment, type ReactNode } from 'react'
import { Link, useSearchParams } from 'wouter'
import type { Query } from '../api/query.ts'
import { Icon } from './icons.tsx'
import { kinds, lists, type Kind } from './kinds.ts'
import { SegmentLinks } from './segments.tsx'
import { Empty, Failure, Skeleton } from './states.tsx'
import { Foreign } from './text.tsx'
import { t } from '../texts/texts.tsx'

/** The parts of a thing; the first is shown where the address names none. */
export type Tabs<Thing> = readonly {
  tab: string
  name: string
  render(thing: Thing, reload: () => void): ReactNode
}[]

interface Props<Thing> {
  /** What it is. */
  kind: Kind
  /** The address of the list. */
  list: string
  read: Query<unknown>
  /** Null or undefined: it was not found, or not read yet. */
  thing: Thing | null | undefined
  title(thing: Thing): string
  titleClass?: string
  bodyClass: string
  renderHead(thing: Thing): ReactNode
  /** What stands above the tabs, or alone. */
  render?(thing: Thing): ReactNode
  tabs?: Tabs<Thing>
}

export function DetailPage<Thing extends { id: string }>(props: Props<Thing>) {
  const { kind, list, read, thing, titleClass, bodyClass, tabs = [] } = props
  const { data, error, reload } = read
  const [params] = useSearchParams()
  const shown = tabs.find(({ tab }) => tab === params.get('tab')) ?? tabs[0]
  if (error && !thing) return <Failure error={error} retry={reload} />
  if (!data) return <Skeleton lines={8} />
  if (!thing)
    return (
      <Empty title={t('This {kind} no longer exists', { kind: kinds[kind] })}>
        <Link href={list}>{lists[kind]}</Link>
      </Empty>
    )
  return (
    <>
      <header className="screen-head">
        <Back list={list} kind={kind} />
        <h1 className={titleClass}>
          <Foreign text={props.title(thing)} max={120} />
        </h1>
        {props.renderHead(thing)}
      </header>
      <div className={`screen-body ${bodyClass}`}>
        {tabs.length > 0 && (
          <SegmentLinks
            label={t('Parts of the {kind}', { kind: kinds[kind] })}
            links={tabs.map((one, at) => ({
              href: `${list}/${thing.id}${at === 0 ? '' : `?tab=${one.tab}`}`,
              name: one.name,
              isCurrent: one === shown,
            }))}
          />
        )}
        {error !== null && <Failure error={error} retry={reload} />}
        {props.render?.(thing)}
        {shown && <Fragment key={`${thing.id} ${shown.tab}`}>{shown.render(thing, reload)}</Fragment>}
      </div>
    </>
  )
}

/** The head and body of the page on which one is created. */
export function NewPage({
  kind,
  title = t('New {kind}', { kind: kinds[kind] }),
  list,
  bodyClass,
  children,
}: Pick<Props<never>, 'kind' | 'list' | 'bodyClass'> & { title?: string; children: ReactNode }) {
  return (
    <>
      <header className="screen-head">
        <Back list={list} kind={kind} />
        <h1>{title}</h1>
      </header>
      <div className={`screen-body ${bodyClass}`}>{children}</div>
    </>
  )
}

function Back({ list, kind }: { list: string; kind: Kind }) {
  return (
    <Link href={list} className="mute" aria-label={lists[kind]}>
      <Icon name="back" />
    </Link>
  )
}
