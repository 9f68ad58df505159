/** The parts of a catalogue, which `web/vite.config.ts` makes. */
declare module '*.json?first' {
  const texts: Record<string, string | Partial<Record<Intl.LDMLPluralRule, string>>>
  export default texts
}
declare module '*.json?rest' {
  const texts: Record<string, string | Partial<Record<Intl.LDMLPluralRule, string>>>
  export default texts
}
