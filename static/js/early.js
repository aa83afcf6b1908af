// Before anything is drawn: that there are scripts decides what is shown. No module, which would come too late.
document.documentElement.classList.add("has-js");
