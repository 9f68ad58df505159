/** The tools that a model did not get, each with the reason. */
import { Foreign } from './text.tsx'

export function OmittedTools({ tools }: { tools: { name: string; reason: string }[] }) {
  return (
    <ul>
      {tools.map(({ name, reason }) => (
        <li key={name}>
          <Foreign className="mono" text={name} max={100} />: <Foreign text={reason} max={500} />
        </li>
      ))}
    </ul>
  )
}
