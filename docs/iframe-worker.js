// Search from a folder: browsers load no workers from files, so this one runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow, page = this.frame.contentDocument;
      const load = (src) => new Promise((done, fail) => {
        const script = page.createElement("script");
        script.src = new URL(src, location.href).href;
        script.onload = done;
        script.onerror = fail;
        page.head.append(script);
      });
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...some) => some.reduce((last, src) => last.then(() => load(src)), Promise.resolve());
      this.ready = load(url);
    }
    postMessage(data) {
      const inside = this.frame.contentWindow;
      this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
