/** Where the browser of the tests is. */
import { existsSync } from 'node:fs'

export const chromiumPath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'

/** Whether there is a browser. */
export const hasChromium = existsSync(chromiumPath)
