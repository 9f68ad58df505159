/** A field that leads anywhere by the keyboard: screens, tools and agents by name, and whatever an id names. */
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from 'react'
import { useLocation } from 'wouter'
import { graphql } from '../api/document.ts'
import { useQuery } from '../api/query.ts'
import { useThings } from '../api/things.ts'
import { Dialog } from '../parts/dialog.tsx'
import { places, type View } from '../parts/places.ts'
import { Foreign } from '../parts/text.tsx'
import { t } from '../texts/texts.tsx'

const namedQuery = graphql(`
  query Named($projectId: ID, $name: String!) {
    tools(projectId: $projectId, name: $name, first: 8) {
      nodes {
        id
        name
      }
    }
    agents(projectId: $projectId, name: $name, first: 8) {
      nodes {
        id
        name
      }
    }
  }
`)

/** What can be chosen. */
interface Place {
  href: string
  name: string
  /** What it is, in a word. */
  kind: string
}

/** The screens by the names that people look for: a view of several is named with its place. */
const screens = places.flatMap(({ name, views }) =>
  views.map((view) => ({
    view,
    href: view.href,
    name: view.name,
    kind: view.name === name ? t('screen') : name,
  })),
)

/** Where the object with an id is; null for what is no id. Calls are looked up. */
function placeOfId(text: string): Place | null {
  const prefix = /^([a-z]+)_[0-9a-z_]{1,40}$/.exec(text)?.[1]
  const pages: Record<string, [href: string, kind: string]> = {
    apr: [`/approvals/${text}`, t('approval request')],
    gen: [`/runs/${text}`, t('run')],
    thr: [`/runs?thread=${text}`, t('runs in the thread')],
    agt: [`/agents/${text}`, t('agent')],
    tool: [`/tools/${text}`, t('tool')],
    whk: [`/settings/webhooks/${text}`, t('webhook')],
  }
  const page = prefix === undefined ? undefined : pages[prefix]
  return page ? { href: page[0], name: text, kind: page[1] } : null
}

/** The places for what was typed, the most likely first. */
function usePlaces(typed: string, isShown: (view: View) => boolean): Place[] {
  const text = typed.trim()
  const isCall = text.startsWith('call_')
  const ids = useMemo(() => (isCall ? [text] : []), [isCall, text])
  const call = useThings(ids).get(text)
  const id = placeOfId(text)
  const isNamed = text !== '' && !isCall && id === null
  const found = useQuery(namedQuery, { name: text.slice(0, 100) }, { skip: !isNamed }).data
  const wanted = text.toLowerCase()
  const shown = screens.filter(
    ({ view, name, kind }) => isShown(view) && `${name} ${kind}`.toLowerCase().includes(wanted),
  )
  if (id) return [id]
  if (isCall) return call?.href ? [{ href: call.href, name: call.name, kind: t('call') }] : []
  if (!isNamed) return shown
  const tools = (found?.tools.nodes ?? []).map((one) => ({
    href: `/tools/${one.id}`,
    name: one.name,
    kind: t('tool'),
  }))
  const agents = (found?.agents.nodes ?? []).map((one) => ({
    href: `/agents/${one.id}`,
    name: one.name,
    kind: t('agent'),
  }))
  const q = encodeURIComponent(text.slice(0, 200))
  const searches = [
    { href: `/runs?q=${q}`, name: t('Runs with “{text}”', { text }), kind: t('search') },
    {
      href: `/approvals?view=decided&q=${q}`,
      name: t('Decided requests with “{text}”', { text }),
      kind: t('search'),
    },
  ]
  return [...shown, ...tools, ...agents, ...searches]
}

interface Props {
  isShown(view: View): boolean
  onClose(): void
}

export default function Palette({ isShown, onClose }: Props) {
  const [, go] = useLocation()
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const list = useId()
  const field = useRef<HTMLInputElement>(null)
  // After the dialog has opened, which takes the focus.
  useEffect(() => field.current?.focus(), [])
  const found = usePlaces(typed, isShown)
  const chosen = Math.min(at, found.length - 1)
  const open = ({ href }: Place) => {
    onClose()
    go(href)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by !== undefined && found.length > 0) {
      event.preventDefault()
      setAt((chosen + by + found.length) % found.length)
    }
    const place = found[chosen]
    if (event.key === 'Enter' && place && !event.nativeEvent.isComposing) open(place)
  }
  return (
    <Dialog title={t('Go to')} onClose={onClose}>
      <input
        ref={field}
        type="text"
        role="combobox"
        aria-label={t('Screen, tool, agent or id')}
        placeholder={t('Screen, tool, agent or id')}
        aria-expanded={found.length > 0}
        aria-controls={list}
        aria-activedescendant={found.length > 0 ? `${list}-${chosen}` : undefined}
        autoComplete="off"
        maxLength={200}
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div id={list} role="listbox" aria-label={t('Places')} className="palette">
        {found.map((place, index) => (
          <div
            key={place.href}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onPointerDown={(event) => {
              event.preventDefault()
              open(place)
            }}
          >
            <Foreign text={place.name} max={120} />
            <span className="small mute spread">{place.kind}</span>
          </div>
        ))}
      </div>
      <output className="small mute">{found.length === 0 ? t('Nothing has this name or id.') : ''}</output>
    </Dialog>
  )
}
