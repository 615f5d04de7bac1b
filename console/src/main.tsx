/** Main: puts the console into the page. */
import { render } from 'preact'
import 'uplot/dist/uPlot.min.css'
import './style/base.css'
import './style/layout.css'
import './style/parts.css'
import './style/forms.css'
import './style/figures.css'
import './style/pages.css'
import { App } from './app.tsx'
import { start } from './core/live.ts'

const host = document.querySelector('#app')
if (host === null) throw new Error('the page has no place for the console')
host.replaceChildren()
render(<App />, host)
void start()
