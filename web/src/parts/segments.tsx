/** One of several, chosen by buttons or by links that stand in a row. */
import type { RefObject } from 'react'
import { Link } from 'wouter'

interface ButtonsProps<Value> {
  label: string
  value: Value
  options: readonly { value: Value; name: string }[]
  onChange(value: Value): void
}

export function Segments<Value>({ label, value, options, onChange }: ButtonsProps<Value>) {
  return (
    <div className="segments" role="group" aria-label={label}>
      {options.map((one) => (
        <button
          key={one.name}
          type="button"
          aria-pressed={one.value === value}
          onClick={() => onChange(one.value)}
        >
          {one.name}
        </button>
      ))}
    </div>
  )
}

interface LinksProps {
  label: string
  links: readonly { href: string; name: string; isCurrent: boolean }[]
  nav?: RefObject<HTMLElement | null>
}

export function SegmentLinks({ label, links, nav }: LinksProps) {
  return (
    <nav ref={nav} className="segments" aria-label={label}>
      {links.map(({ href, name, isCurrent }) => (
        <Link key={name} href={href} className="button" aria-current={isCurrent ? 'page' : undefined}>
          {name}
        </Link>
      ))}
    </nav>
  )
}
