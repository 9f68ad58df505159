/** Notifications of the browser for questions that come while nobody looks: off until somebody switches them on. */
import { useEffect, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { ask, patiently } from '../api/client.ts'
import { graphql } from '../api/document.ts'
import { useFeed, whenFollowing } from '../api/feed.ts'
import { connection } from '../api/socket.ts'
import { createStore, useStore } from '../api/store.ts'
import { Icon } from '../parts/icons.tsx'
import { toast } from '../parts/toasts.tsx'
import { t } from '../texts/texts.tsx'

const isOn = createStore(false)

const questionQuery = graphql(`
  query AlertQuestion($id: ID!) {
    approval(id: $id) {
      id
      status
      toolName
      agent {
        name
      }
    }
  }
`)

/** Tabs tell each other which questions have been announced. */
const channel = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('gatehouse-alerts')

/** Shows a notification; false where this browser has none for pages, as on Android. */
function notify(title: string, body: string, tag: string, onClick: () => void): boolean {
  try {
    const shown = new Notification(title, { body, tag })
    shown.addEventListener('click', () => {
      window.focus()
      onClick()
      shown.close()
    })
    return true
  } catch {
    return false
  }
}

const isLookedAt = () => document.visibilityState === 'visible' && document.hasFocus()

export function AlertsButton() {
  const hears = useStore(connection).state !== 'none'
  const on = useStore(isOn) && hears
  const [isPossible] = useState(() => 'Notification' in window)
  useAlerts(on)
  // Whoever signs in next has switched nothing on.
  useEffect(() => () => isOn.set(false), [])
  if (!isPossible) return null
  const change = async () => {
    if (on) return isOn.set(false)
    await whenFollowing()
    if (connection.get().state === 'none')
      return toast(t('You need the permission {action} to do this.', { action: 'events:Subscribe' }), {
        tone: 'bad',
      })
    const answer = await Notification.requestPermission()
    if (answer !== 'granted')
      return toast(t('Your browser does not allow notifications from this page.'), { tone: 'bad' })
    isOn.set(
      notify('Gatehouse', t('You are notified of new requests while this page is open.'), 'test', () => {}),
    )
  }
  return (
    <button
      type="button"
      className="quiet"
      aria-pressed={on}
      aria-label={t('Notifications')}
      title={on ? t('Notifications are on') : t('Notifications are off')}
      onClick={() => void change()}
    >
      <Icon name="bell" />
    </button>
  )
}

function useAlerts(on: boolean): void {
  const [, go] = useLocation()
  const announced = useRef(new Set<string>())
  useEffect(() => {
    const hear = ({ data }: MessageEvent) => announced.current.add(String(data))
    channel?.addEventListener('message', hear)
    return () => channel?.removeEventListener('message', hear)
  }, [])
  useFeed(['APPROVAL_REQUESTED', 'APPROVAL_ESCALATED'], (event) => {
    if (!on || !event || isLookedAt() || !('approval' in event) || !event.approval) return
    const { id } = event.approval
    const tag = `${event.type} ${id}`
    if (announced.current.has(tag)) return
    announced.current.add(tag)
    channel?.postMessage(tag)
    void announce(id, event.type === 'APPROVAL_ESCALATED', () => go(`/approvals/${id}`))
  })
}

/** Names the tool and the agent, and never the arguments: a notification stands on a locked screen. */
async function announce(id: string, isEscalated: boolean, open: () => void): Promise<void> {
  const read = () => ask(questionQuery, { id })
  const { approval } = await patiently(read).catch(() => ({ approval: null }))
  if (approval?.status !== 'PENDING' || !isOn.get()) return
  const who = approval.agent?.name ?? t('A direct call')
  notify(
    isEscalated ? t('Still waiting for approval') : t('Waits for approval'),
    `${who}: ${approval.toolName}`,
    id,
    open,
  )
}
