/** SOAT's names of platform actions, for those that Gatehouse has under another name. */
import type { PlatformActions } from '../../../domain/access/index.ts'

/** SOAT's names that no rule gives. */
const irregular: Record<string, string> = {
  'create-agent-generation': 'start-generation',
  'submit-agent-tool-outputs': 'submit-tool-outputs',
}

/** Our name of an action: `get-tool` is `tool`, `list-tools` is `tools`. An unknown name is returned unchanged. */
export function actionName(actions: PlatformActions, name: string): string {
  if (actions.find(name)) return name
  const ours = irregular[name] ?? name.replace(/^(get|list)-/, '')
  return actions.find(ours) ? ours : name
}

/** Every name that SOAT's clients may send for an action, its own first. */
export function namesOf(name: string): string[] {
  const prefix = name.endsWith('s') ? 'list' : 'get'
  const others = Object.keys(irregular).filter((one) => irregular[one] === name)
  const isRead = !/^(create|update|delete|start|submit|cancel|call)-/.test(name)
  return [name, ...(isRead ? [`${prefix}-${name}`] : []), ...others]
}
